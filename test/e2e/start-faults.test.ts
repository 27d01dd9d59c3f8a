import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { chatLines, jsonl } from '../support/batch-lines.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { ProcessOutput, Installation } from '../support/server-process.ts';

// Every failed start prints one sentence with a remedy and no stack, and exits with a non-zero code.

let installation: Installation;
let taken: Server | undefined;

afterEach(async () => {
  await installation?.remove();
  taken?.close();
  taken = undefined;
});

interface ErrorReport {
  message: string;
  hint?: string;
  problems?: string[];
}

/** Returns the message of a failed start, after checking the rules for all of them. */
function errorOf({ code, signal, stdout, stderr }: ProcessOutput): ErrorReport {
  expect([code, signal]).toEqual([1, null]);
  expect(stdout).toBe('');
  expect(stderr).not.toMatch(/\n\s+at |node:internal|\.ts:\d+|Uncaught|Unhandled/);
  // The log may also contain lines, and is written at the end.
  const line = stderr.split('\n').findLast((each) => each.startsWith('{"error"'));
  const { error } = JSON.parse(line!) as { error: ErrorReport };
  expect(error.message).toMatch(/^[A-Z/].*[.!]$/s);
  expect(error.message).not.toContain('\n');
  return error;
}

const llamaYaml = (path: string) => `models:
  - id: own
    engine: { kind: llama, path: "${path}" }
`;

describe('a server that cannot start', () => {
  it('reports which process uses the data folder', async () => {
    installation = install(scriptedYaml());
    const first = await installation.start();
    const { message, hint } = errorOf(await installation.runToExit());
    expect(message).toContain(installation.data);
    expect(message).toContain(`process ${first.pid}`);
    expect(hint).toMatch(/another data folder/);
    expect((await first.api.send('/readyz')).status).toBe(200);
  });

  it('reports files of another database, and does not touch them', async () => {
    installation = install(scriptedYaml());
    const first = await installation.start();
    const file = await first.api.upload(jsonl(chatLines(3)));
    await first.end('SIGTERM');
    const away = join(installation.folder, 'away');
    mkdirSync(away);
    const database = readdirSync(installation.data).filter((name) => name.startsWith('offpeak.db'));
    for (const name of database) renameSync(join(installation.data, name), join(away, name));
    const { message, hint } = errorOf(await installation.runToExit());
    const blobs = join(installation.data, 'blobs');
    const id = readFileSync(join(blobs, 'installation'), 'utf8').trim();
    expect(message).toContain(blobs);
    expect(message).toContain(`the folder is of installation ${id}, the database is new or of another one`);
    expect(hint).toContain(`${blobs}/installation`);
    for (const name of database) renameSync(join(away, name), join(installation.data, name));
    const again = await installation.start();
    expect((await again.api.send(`/v1/files/${file.id}/content`)).text).toBe(jsonl(chatLines(3)));
    await again.end('SIGTERM');
    writeFileSync(join(blobs, 'installation'), 'adopt\n');
    await installation.start();
    expect(readFileSync(join(blobs, 'installation'), 'utf8').trim()).toBe(id);
  });

  it('reports a port in use', async () => {
    installation = install(scriptedYaml());
    taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken!.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const env = { OFFPEAK_API_KEY: '', OFFPEAK_ADMIN_KEY: '' };
    const ended = await installation.runToExit({ env, flags: ['--port', String(port)] });
    const { message } = errorOf(ended);
    expect(message).toContain(String(port));
    expect(message).toMatch(/in use|taken/);
    // On a failed first start, the keys were not usable: the next start creates them.
    expect(ended.stderr).not.toContain('sk-offpeak-');
    const { firstKeys } = await installation.start({ env });
    expect(firstKeys).toEqual({
      key: expect.stringMatching(/^sk-offpeak-/),
      admin_key: expect.stringMatching(/^sk-offpeak-/),
    });
  });

  it('reports a Node without SQLite', async () => {
    installation = install(scriptedYaml());
    const ended = await installation.runToExit({ env: { NODE_OPTIONS: '--no-experimental-sqlite' } });
    const { message, hint } = errorOf(ended);
    expect(message).toMatch(/^This Node\.js \(v\d+.*\) was built without node:sqlite/);
    expect(hint).toContain('postgres://');
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('reports a file that is not a database', async () => {
    installation = install(scriptedYaml());
    writeFileSync(
      join(installation.data, 'offpeak.db'),
      'This is a shopping list, not a database. '.repeat(100),
    );
    const { message, hint } = errorOf(await installation.runToExit());
    expect(message).toContain('offpeak.db');
    expect(message).toContain('not a database');
    expect(hint).toBeTruthy();
  });

  it('reports a damaged database', async () => {
    installation = install(scriptedYaml());
    const server = await installation.start();
    await server.end('SIGTERM');
    const path = join(installation.data, 'offpeak.db');
    rmSync(`${path}-wal`, { force: true });
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 100, bytes.length);
    writeFileSync(path, bytes);
    const { message } = errorOf(await installation.runToExit());
    expect(message).toMatch(/damaged/);
  });

  it('reports an unusable data folder', async () => {
    installation = install(scriptedYaml());
    rmSync(installation.data, { recursive: true });
    writeFileSync(installation.data, 'a file');
    const { message } = errorOf(await installation.runToExit());
    expect(message).toContain(installation.data);
  });

  it('reports a missing model file with the line that names it', async () => {
    installation = install(llamaYaml('missing.gguf'));
    const { message, problems } = errorOf(await installation.runToExit());
    expect(message).toMatch(/configuration/);
    expect(problems).toHaveLength(1);
    expect(problems![0]).toMatch(/offpeak\.yaml:3: .*missing\.gguf/);
  });

  it('reports a file that is not a model', async () => {
    installation = install(llamaYaml('noise.gguf'));
    writeFileSync(join(installation.folder, 'noise.gguf'), Buffer.alloc(100_000, 'noise'));
    const { message } = errorOf(await installation.runToExit());
    expect(message).toContain('noise.gguf');
  });

  it('reports every mistake in the configuration with its line', async () => {
    installation = install('servre: {}\nmodels:\n  - id: a\n    engine: { kind: scripted, slots: many }\n');
    const { problems } = errorOf(await installation.runToExit());
    expect(problems).toEqual([
      expect.stringMatching(/offpeak\.yaml:1: .*Did you mean 'server'/),
      expect.stringMatching(/offpeak\.yaml:4: .*slots/),
    ]);
  });

  it('C19: rejects weak keys', async () => {
    installation = install(`${scriptedYaml()}api_key: short\n`);
    const server = installation.start({ env: { OFFPEAK_API_KEY: 'too-short' } });
    await expect(server).rejects.toThrow(/OFFPEAK_API_KEY.*at least 32 characters/s);
  });

  it('leaves the folder unchanged for the next start', async () => {
    installation = install(scriptedYaml());
    mkdirSync(join(installation.data, 'blobs'), { recursive: true });
    errorOf(await installation.runToExit({ flags: ['--port', '70000'] }));
    const server = await installation.start();
    expect((await server.api.send('/readyz')).status).toBe(200);
  });
});

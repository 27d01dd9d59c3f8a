import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCountingUpstream } from '../support/counting-upstream.ts';
import type { CountingUpstream } from '../support/counting-upstream.ts';
import { freePort } from '../support/free-port.ts';
import { runCli } from './support/run-cli.ts';
import { createWorkspace, requests } from './support/processes.ts';
import type { Workspace } from './support/processes.ts';

let place: Workspace;
let upstream: CountingUpstream | undefined;

beforeEach(() => {
  place = createWorkspace();
});

afterEach(async () => {
  await place.remove();
  await upstream?.close();
  upstream = undefined;
});

/** Server whose batches do not end before `release`. */
async function serveHeld(flags: string[] = []) {
  const held = await startCountingUpstream();
  upstream = held;
  held.holdAfter = 20;
  const engine = `{ kind: openai, flavor: openai, url: "${held.url}", model: real, slots: 4 }`;
  place.write('offpeak.yaml', `models:\n  - { id: m, serves: [chat], engine: ${engine} }\n`);
  return { ...(await place.serve(flags)), release: () => held.release() };
}

function customIds(file: string): string[] {
  const lines = readFileSync(join(place.folder, file), 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
}

/** Runs a client command in this process, which is faster. */
const runHere = (argv: string[], env: Record<string, string>) => runCli(argv, { fetch, env });

const inOrder = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`);

describe('serve', () => {
  it('shows the first keys once, drains on SIGTERM and restarts', async () => {
    const first = await place.serve();
    expect(first.ready).toMatchObject({ models: [{ id: 'm' }], data: join(place.folder, 'offpeak-data') });
    expect(first.ready.keys).toEqual({ key: expect.any(String), admin_key: expect.any(String) });
    first.child.kill('SIGTERM');
    expect(await first.exit).toMatchObject({ code: 0, signal: null });
    const second = await place.serve();
    expect(second.ready.keys).toBeNull();
    const env = { ...second.env, OFFPEAK_API_KEY: first.env['OFFPEAK_API_KEY'] ?? '' };
    expect((await place.run(['models', 'list'], env)).out).toBe('m\tdefault\tchat, embeddings\n');
  });

  it('exits when the launcher of a checkout is killed, as a shell or container does', async () => {
    const launched = place.launch(['serve', '--port', '0', '--json', '--log-level', 'silent']);
    const { url } = JSON.parse(await launched.line(/^\{"url"/)) as { url: string };
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    launched.child.kill('SIGKILL');
    // The server holds the other ends of these pipes; they close when it exits.
    expect((await launched.exit).err).toContain('Stopping');
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it.each(['once', 'twice'])('writes its whole log when it is stopped %s', async (times) => {
    const server = await place.serve(['--log-level', 'info']);
    const answer = await fetch(`${server.ready.url}/v1/models`);
    const id = answer.headers.get('x-request-id') ?? 'none';
    await answer.text();
    server.child.kill('SIGTERM');
    if (times === 'twice') {
      await server.line(/^Stopping/);
      server.child.kill('SIGTERM');
    }
    expect((await server.exit).err).toContain(id);
  });

  it('drains even though its output pipe is closed', async () => {
    const server = await serveHeld(['--log-level', 'info']);
    upstream!.holdAfter = 0;
    const asked = fetch(`${server.ready.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.env.OFFPEAK_API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello.' }] }),
    });
    await expect.poll(() => upstream!.total()).toBe(1);
    server.child.stdout!.destroy();
    server.child.stderr!.destroy();
    server.child.kill('SIGTERM');
    // Until it refuses connections, which shows that it received the signal.
    const headers = { connection: 'close' };
    while (await fetch(`${server.ready.url}/healthz`, { headers }).catch(() => undefined));
    server.release();
    expect((await asked).status).toBe(200);
    expect(await server.exit).toMatchObject({ code: 0, signal: null });
  });

  it.runIf(existsSync('/dev/full'))(
    'keeps running when the disk of its log is full, and stops on SIGTERM',
    async () => {
      const full = openSync('/dev/full', 'w');
      const server = await place.serve(['--log-level', 'info'], full);
      closeSync(full);
      for (let n = 0; n < 300; n++) await fetch(`${server.ready.url}/v1/no-such-route`);
      expect((await fetch(`${server.ready.url}/readyz`)).status).toBe(200);
      server.child.kill('SIGTERM');
      expect(await server.exit).toMatchObject({ code: 0, signal: null });
    },
  );

  it('names the obstacle and how to avoid it', async () => {
    const server = await place.serve();
    const port = new URL(server.ready.url).port;
    const usedPort = await place.run(['serve', '--data', 'other', '--port', port]);
    expect(usedPort).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Port ${port} on 127.0.0.1 is already in use`),
    });
    writeFileSync(join(place.folder, 'taken.yaml'), `metrics: { port: ${port} }\n`);
    const argv = ['serve', '--config', 'taken.yaml', '--data', 'other', '--port', '0'];
    const usedByMetrics = await place.run(argv);
    expect(usedByMetrics).toMatchObject({ code: 1, err: expect.stringContaining('with metrics.port;') });
    const usedFolder = await place.run(['serve', '--port', '0']);
    expect(usedFolder).toMatchObject({ code: 1, err: expect.stringContaining('in use by process') });
    const file = await place.run(['serve', '--port', '0', '--data', 'offpeak.yaml']);
    expect(file).toMatchObject({
      code: 1,
      err: expect.stringMatching(/data folder .*offpeak.yaml cannot be used/),
    });
    for (const { out, err } of [usedPort, usedFolder, file]) {
      expect(out).toBe('');
      expect(err).not.toMatch(/\n\s+at /);
    }
  });

  it('rejects a configuration with file and line', async () => {
    place.write('offpeak.yaml', 'models:\n  - id: m\n    engine: { kind: llama, path: nowhere.gguf }\n');
    const { code, err } = await place.run(['serve']);
    expect(code).toBe(1);
    expect(err).toContain('offpeak.yaml:3: models[0].engine.path: there is no file');
  });
});

describe('client commands', () => {
  it('run a batch from a file to a file', async () => {
    const server = await place.serve();
    place.write('in.jsonl', requests(30));
    const { code, out } = await place.run(
      ['batch', 'run', 'in.jsonl', '-o', 'out.jsonl', '--json'],
      server.env,
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      status: 'completed',
      request_counts: { total: 30, completed: 30, failed: 0 },
      files: { output: join(place.folder, 'out.jsonl') },
    });
    expect(customIds('out.jsonl')).toEqual(inOrder(30));
  });

  it('resume a batch after the command was killed', async () => {
    const server = await serveHeld();
    place.write('in.jsonl', requests(200));
    const argv = ['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'];
    const killed = place.start(argv, server.env);
    await killed.line(/^in_progress/);
    killed.child.kill('SIGKILL');
    await killed.exit;
    expect(existsSync(join(place.folder, 'out.jsonl'))).toBe(false);
    server.release();
    const again = await place.run(argv, server.env);
    expect(again.code).toBe(0);
    expect(again.err).toContain('Resuming batch_');
    expect(customIds('out.jsonl')).toEqual(inOrder(200));
    expect((await place.run(['batch', 'list'], server.env)).out.trim().split('\n')).toHaveLength(1);
  });

  it('leave the batch running on Ctrl-C and print how to resume', async () => {
    const server = await serveHeld();
    place.write('in.jsonl', requests(200));
    const command = place.start(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'], server.env);
    await command.line(/^in_progress/);
    command.child.kill('SIGINT');
    const { code, err } = await command.exit;
    expect(code).toBe(130);
    expect(err).toContain('keeps running');
  });

  it('wait for a server that is killed during a batch and restarted', async () => {
    const port = ['--port', String(await freePort())];
    const server = await serveHeld(port);
    place.write('in.jsonl', requests(200));
    const command = place.start(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'], server.env);
    await command.line(/^in_progress/);
    server.child.kill('SIGKILL');
    await server.exit;
    await command.line(/Waiting for the server/);
    server.release();
    await place.serve(port);
    expect((await command.exit).code).toBe(0);
    expect(customIds('out.jsonl')).toEqual(inOrder(200));
  });

  it('manage orgs and keys with the admin key', async () => {
    const server = await place.serve();
    const env = { ...server.env, OFFPEAK_ADMIN_KEY: server.ready.keys?.admin_key ?? '' };
    const org = JSON.parse((await runHere(['orgs', 'create', 'second', '--json'], env)).out) as {
      id: string;
    };
    const scopes = ['--scopes', 'files', '--budget', '5/month,soft', '--json'];
    const made = await runHere(['keys', 'create', '--org', org.id, ...scopes], env);
    expect((await runHere(['orgs', 'create', 'second'], env)).err).toContain(
      `Another org has the same name: ${org.id}`,
    );
    expect((await runHere(['orgs', 'update', org.id, '--budget', '50/month'], env)).out).toContain(
      '0 of 50/month',
    );
    const lifted = await runHere(['orgs', 'update', org.id, '--budget', 'none'], env);
    expect([lifted.code, lifted.out]).toEqual([0, expect.stringMatching(/budget +none/)]);
    const key = JSON.parse(made.out) as { id: string; key: string; budget: unknown };
    expect(key.budget).toMatchObject({ amount: '5', period: 'month', hard: false });
    const raised = await runHere(['keys', 'update', key.id, '--budget', '8'], env);
    expect(raised.out).toMatch(/budget +0 of 8\n/);
    const free = await runHere(['keys', 'update', key.id, '--budget', 'none', '--json'], env);
    expect(JSON.parse(free.out)).toMatchObject({ budget: null });
    const asNew = { ...env, OFFPEAK_API_KEY: key.key };
    expect((await runHere(['files', 'list'], asNew)).code).toBe(0);
    const { err } = await runHere(['batch', 'list'], asNew);
    expect(err).toContain('permission_denied');
    expect(err).toContain('keys create --org <org> --scopes batches:read');
    expect((await runHere(['keys', 'revoke', key.id], env)).code).toBe(0);
    expect((await runHere(['keys', 'list', '--org', org.id], env)).out).toContain('revoked');
    const nobody = await runHere(['keys', 'list', '--org', 'org_nobody'], env);
    expect(nobody).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no org with this id or name'),
    });
  });

  it('exit silently when the reader of their output closes the pipe', async () => {
    const server = await place.serve();
    place.write('in.jsonl', requests(2000));
    await place.run(['files', 'upload', 'in.jsonl'], server.env);
    const id = (await place.run(['files', 'list'], server.env)).out.split('\t')[0] ?? '';
    const reader = place.start(['files', 'content', id], server.env);
    reader.child.stdout?.once('data', () => reader.child.stdout?.destroy());
    expect(await reader.exit).toMatchObject({ code: 0, err: '' });
  });
});

describe('demo', () => {
  it('runs its sample to the end and prints the next steps', async () => {
    const { code, out, err } = await place.run(['demo'], { TMPDIR: place.folder });
    expect({ code, err: err.split('\n').filter((line) => line.startsWith('Error')) }).toEqual({
      code: 0,
      err: [],
    });
    expect(out).toContain('100 completed, 0 failed, of 100');
    expect(out).toContain('22 of 22 conform to their schema');
    expect(out).toContain('14 of 14 call their tool');
    expect(out).toMatch(/What is the capital of \w+\?\t\w+/);
    const folder = /results +(\S+)\/results\.jsonl/.exec(out)?.[1] ?? '';
    expect(
      readFileSync(join(place.folder, folder, 'results.jsonl'), 'utf8')
        .trimEnd()
        .split('\n'),
    ).toHaveLength(100);
    expect(out).toContain(`serve --data ${folder}/data`);
  });
});

it.runIf(existsSync('/dev/full'))('reports that its output could not be written to a full disk', () => {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [main, '--help'], {
    stdio: ['ignore', full, 'pipe'],
  });
  closeSync(full);
  expect([status, String(stderr)]).toEqual([1, 'Error: The output is incomplete: the disk is full.\n']);
});

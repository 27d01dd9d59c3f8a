import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine, chatLines, jsonl, parseLines } from '../support/batch-lines.ts';
import { install, processKey, scriptedYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';

// `offpeak batch run` with a real server, as a script would call it.

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
let installation: Installation;
let server: ServerProcess;

beforeAll(async () => {
  installation = install(scriptedYaml());
  server = await installation.start();
});

afterAll(() => installation?.remove());

async function offpeak(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: installation.folder,
    env: { PATH: process.env.PATH, OFFPEAK_URL: server.url, OFFPEAK_API_KEY: processKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const seen = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.err += text));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, ...seen };
}

function inputFile(name: string, lines: unknown[]): string {
  writeFileSync(join(installation.folder, name), jsonl(lines));
  return name;
}

const results = (name: string) => parseLines(readFileSync(join(installation.folder, name), 'utf8'));

describe('offpeak batch run', () => {
  it('writes the results in input order and exits 0', async () => {
    const input = inputFile('good.jsonl', chatLines(40));
    const { code, err } = await offpeak('batch', 'run', input, '-o', 'good-out.jsonl');
    expect([code, err.includes('Error')]).toEqual([0, false]);
    expect(results('good-out.jsonl').map((line) => line.custom_id)).toEqual(
      chatLines(40).map((line) => line.custom_id),
    );
  });

  it('exits 2 when some lines failed', async () => {
    const input = inputFile('mixed.jsonl', [...chatLines(5), chatLine('bad', '[[fail 400]]')]);
    const { code } = await offpeak('batch', 'run', input, '-o', 'mixed-out.jsonl');
    expect(code).toBe(2);
    expect(results('mixed-out.jsonl').filter((line) => line.error === null)).toHaveLength(5);
  });

  it('exits 1 with the errors of a bad file, without a stack', async () => {
    const input = inputFile('bad.jsonl', [chatLine('a'), chatLine('a')]);
    const { code, err } = await offpeak('batch', 'run', input, '-o', 'bad-out.jsonl');
    expect(code).toBe(1);
    expect(err).toMatch(/line 2.*duplicate_custom_id/s);
    expect(err).not.toMatch(/\n\s+at /);
  });
});

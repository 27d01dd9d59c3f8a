import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const source = (path: string) => JSON.stringify(join(import.meta.dirname, '../../src', path));
/** Lets a thread compile a schema and then kills the process, so that only the thread can have written the cache. */
const program = (keep: boolean) => `
  import { enableCompileCache } from 'node:module';
  if (${keep}) enableCompileCache(process.argv[1]);
  const { SchemaThread } = await import(${source('inference/schemas/thread.ts')});
  const { systemClock } = await import(${source('base/system.ts')});
  const { silent } = await import(${source('base/log.ts')});
  const thread = new SchemaThread(systemClock, silent);
  void thread.run({ source: '{}', text: null, limitMs: 60_000 }).then(({ kind }) => {
    if (kind === 'fine') process.kill(process.pid, 'SIGKILL');
  });
  setInterval(() => {}, 1000);
`;

it.each([
  ['caches compiled sources if the process does', true],
  ['caches nothing if the process does not', false],
])('a schema thread %s', (_, keep) => {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-thread-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const values = ['--input-type=module', '--eval', program(keep), folder];
  const { signal } = spawnSync(process.execPath, values, { env: { PATH: process.env['PATH'] } });
  expect(signal).toBe('SIGKILL');
  const kept = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(kept.length > 10).toBe(keep);
});

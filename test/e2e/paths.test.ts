import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { routes } from '../../src/server/routes/routes.ts';
import { startApp, type RunningApp } from '../support/app.ts';
import { chatLines, jsonl } from '../support/batch-lines.ts';

// File names and ids that try to leave the data folder.

const folder = mkdtempSync(join(tmpdir(), 'offpeak-paths-'));
let running: RunningApp;
beforeAll(async () => {
  running = await startApp({ data: join(folder, 'deep/down/data') });
});
afterAll(async () => {
  await running?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const steps = ['../', '..\\', '..%2f', '%2e%2e/', '....//', '/', '//', 'C:\\', '\\\\host\\share\\', './../'];
const targets = [
  'escaped',
  'offpeak.db',
  'lock.pid',
  'etc/passwd',
  'sha256-../../escaped',
  'a\u0000b',
  '\u202eexe.txt',
];
const names = steps.flatMap((step) => targets.map((target) => step.repeat(3) + target));

const paths = () => readdirSync(folder, { recursive: true }).map(String).toSorted();
const blob = /^deep\/down\/data\/blobs\/(?:[0-9a-f]{2}(?:\/[\w.-]+)?|tmp|quarantine|installation)$/;
const others =
  /^deep(?:\/down(?:\/data(?:\/(?:blobs|models|offpeak\.db(?:-wal|-shm)?|lock\.(?:db|pid)(?:-journal)?))?)?)?$/;

it('C08: no file name leads anywhere: files are stored under names that the server makes', async () => {
  expect(names.length).toBeGreaterThan(60);
  const content = jsonl(chatLines(1));
  for (const name of names) {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new Blob([content]), name);
    const { status, text } = await running.api.send('/v1/files', { body: form });
    if (status === 422) continue;
    expect(status, name).toBe(201);
    const { id, filename } = JSON.parse(text) as { id: string; filename: string };
    expect(filename).not.toMatch(/[/\\\0]|^\.\.?$/);
    expect((await running.api.send(`/v1/files/${id}/content`)).text).toBe(content);
  }
  expect(paths().filter((path) => !blob.test(path) && !others.test(path))).toEqual([]);
});

it('C08: an id that is a path is an unknown id on every route', async () => {
  const before = paths();
  const withIds = routes.filter(({ path }) => path.includes(':'));
  expect(withIds.length).toBeGreaterThan(20);
  for (const { method, path } of withIds)
    for (const id of ['..%2f..%2foffpeak.db', '%2e%2e%5coffpeak.db', 'file-..%2f..%2fetc%2fpasswd', '%00']) {
      const { status, text } = await running.api.send(path.replaceAll(/:\w+/g, id), { method });
      expect([method, path, id, status < 500 && status >= 400]).toEqual([method, path, id, true]);
      expect(text).not.toMatch(/SQLite|root:|ENOENT|deep\/down/);
    }
  expect(paths()).toEqual(before);
});

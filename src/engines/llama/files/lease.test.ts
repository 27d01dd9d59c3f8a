import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { takeLease } from './pull-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lease-'));
  path = join(folder, 'm.gguf');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

it('is held by one at a time, also beside a file named .part.lock', async () => {
  writeFileSync(`${path}.part.lock`, JSON.stringify({ host: 'elsewhere', pid: 1 }));
  const lease = await takeLease(path, fs);
  expect(lease).toBeDefined();
  expect(await takeLease(path, fs)).toBeUndefined();
  await lease?.release();
  const next = await takeLease(path, fs);
  expect(next).toBeDefined();
  await next?.release();
});

it('is not granted on a file that its holder removed between opening and locking', async () => {
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(function (this: DatabaseSync, sql) {
    rmSync(`${path}.part.lock.db`);
    this.exec(sql);
  });
  expect(await takeLease(path, fs)).toBeUndefined();
  expect(existsSync(`${path}.part.lock.db`)).toBe(false);
  const next = await takeLease(path, fs);
  expect(next).toBeDefined();
  await next?.release();
});

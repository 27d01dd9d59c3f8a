import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeFolder } from './make-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'offpeak-folder-'));
afterAll(() => rmSync(root, { recursive: true }));

it('creates missing folders and accepts existing ones', async () => {
  const path = join(root, 'a', 'b', 'c');
  await makeFolder(path, 0o700);
  await makeFolder(path, 0o700);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

it('reports the obstacle', async () => {
  writeFileSync(join(root, 'file'), '');
  await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(root, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it.skipIf(process.platform !== 'linux')('fails where no folder can be created at all', async () => {
  await expect(makeFolder('/proc/offpeak/data')).rejects.toMatchObject({ code: 'ENOENT' });
});

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeFolder } from './make-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'offpeak-folder-'));
afterAll(() => rmSync(root, { recursive: true }));

it('makes what is missing, and is content with what is there', async () => {
  const path = join(root, 'a', 'b', 'c');
  await makeFolder(path, 0o700);
  await makeFolder(path, 0o700);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

it('says what is in the way', async () => {
  writeFileSync(join(root, 'file'), '');
  await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(root, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it.skipIf(process.platform !== 'linux')('ends where no folder can be made at all', async () => {
  await expect(makeFolder('/proc/offpeak/data')).rejects.toMatchObject({ code: 'ENOENT' });
});

import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silent } from '../base/log.ts';
import { restrictPermissions } from './restrict-permissions.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'private-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const warn = vi.fn();
const log = { ...silent, warn };
const modeOf = (name = '') => statSync(join(folder, name)).mode & 0o777;

it('restricts its own files, leaves others, and warns once', async () => {
  writeFileSync(join(folder, 'offpeak.db'), '');
  writeFileSync(join(folder, 'notes.txt'), '');
  mkdirSync(join(folder, 'blobs'));
  chmodSync(join(folder, 'offpeak.db'), 0o644);
  chmodSync(join(folder, 'notes.txt'), 0o644);
  chmodSync(join(folder, 'blobs'), 0o755);
  chmodSync(folder, 0o755);
  await restrictPermissions(folder, log);
  expect([modeOf('offpeak.db'), modeOf('blobs'), modeOf('notes.txt'), modeOf()]).toEqual([
    0o600, 0o700, 0o644, 0o755,
  ]);
  expect(warn.mock.calls).toMatchObject([
    [{ mode: '755', closed: ['offpeak.db', 'blobs'] }, expect.any(String)],
  ]);
  warn.mockClear();
  chmodSync(folder, 0o700);
  await restrictPermissions(folder, log);
  expect(warn).not.toHaveBeenCalled();
});

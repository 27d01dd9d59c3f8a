import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { silent } from '../base/log.ts';
import { createDiskReserve, defaultReserve, type DiskSpace } from './disk-reserve.ts';

const gib = 2 ** 30;

it('is 5 % of a small disk, and 1 GiB of a large one', () => {
  expect([gib, 20 * gib, 900 * gib].map(defaultReserve)).toEqual([Math.floor(gib / 20), gib, gib]);
});

it('refuses what clients store while any disk has less left, and logs both changes once (attack 5)', async () => {
  const clock = createManualClock();
  const logged: string[] = [];
  const log = {
    ...silent,
    error: (fields: object) => void logged.push(JSON.stringify(fields)),
    info: () => void logged.push('room'),
  };
  const disks: Record<string, DiskSpace | undefined> = {
    '/data': { freeBytes: 100, totalBytes: 1_000 },
    '/blobs': { freeBytes: 50, totalBytes: 1_000 },
    '/gone': undefined,
  };
  const read = (folder: string) =>
    disks[folder] ? Promise.resolve(disks[folder]) : Promise.reject(new Error('gone'));
  const folders = Object.keys(disks);
  const reserve = createDiskReserve({ folders, reserveBytes: undefined, clock, log, read });
  const refused = () => {
    try {
      return reserve.require();
    } catch (error) {
      return (error as { code: string; status: number }).status;
    }
  };
  await reserve.start();
  expect(refused()).toBeUndefined();
  disks['/blobs']!.freeBytes = 49;
  expect(refused()).toBeUndefined();
  await clock.advance(1_000);
  expect(refused()).toBe(507);
  await clock.advance(5_000);
  expect(logged).toEqual(['{"folder":"/blobs","free_bytes":49,"reserve_bytes":50}']);
  disks['/blobs']!.freeBytes = 50;
  await clock.advance(1_000);
  expect([refused(), logged.at(-1), logged.length]).toEqual([undefined, 'room', 2]);
  await reserve.stop();
  expect(clock.pending).toBe(0);
});

it('has the configured size, and none of 0 bytes', async () => {
  const clock = createManualClock();
  const read = async () => ({ freeBytes: 0, totalBytes: 100 });
  for (const [reserveBytes, throws] of [
    [0, false],
    [1, true],
  ] as const) {
    const reserve = createDiskReserve({ folders: ['/'], reserveBytes, clock, log: silent, read });
    await reserve.start();
    if (throws) expect(() => reserve.require()).toThrow('almost full');
    else reserve.require();
    await reserve.stop();
  }
});

it('reads the real disk', async () => {
  const clock = createManualClock();
  const logged: unknown[] = [];
  const log = { ...silent, error: (fields: object) => void logged.push(fields) };
  const reserve = createDiskReserve({
    folders: [tmpdir()],
    reserveBytes: Number.MAX_SAFE_INTEGER,
    clock,
    log,
  });
  await reserve.start();
  expect(logged).toEqual([expect.objectContaining({ folder: tmpdir(), free_bytes: expect.any(Number) })]);
  await reserve.stop();
});

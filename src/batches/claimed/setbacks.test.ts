import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { BlobError } from '../../core/blob-error.ts';
import { Setbacks } from './setbacks.ts';
import { WorkInHand } from './work-in-hand.ts';

describe('Setbacks', () => {
  let clock: ManualClock;
  let failed: string[];
  let setbacks: Setbacks;
  const error = new Error('EIO');

  beforeEach(() => {
    clock = createManualClock();
    failed = [];
    setbacks = new Setbacks({
      work: new WorkInHand(clock, () => {}),
      clock,
      random: { bytes: (n) => new Uint8Array(n), float: () => 0 },
      log: silent,
      fail: async (batchId, message) => void failed.push(`${batchId}: ${message}`),
    });
  });

  it('lets a batch wait longer each time, and the others not at all', async () => {
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      await setbacks.add('b', error, null);
      expect(setbacks.waits('c')).toBe(false);
      let ms = 0;
      for (; setbacks.waits('b'); ms += 500) await clock.advance(500);
      waits.push(ms);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(failed).toEqual([]);
  });

  it('ends a batch whose own fault is met for the fourth time', async () => {
    for (let n = 0; n < 3; n++) {
      await setbacks.add('b', error, 'The input file is gone.');
      await clock.advance(10_000);
    }
    expect(failed).toEqual([]);
    await setbacks.add('b', error, 'The input file is gone.');
    expect(failed).toEqual(['b: The input file is gone.']);
  });

  it('counts once what many lines meet together', async () => {
    for (let n = 0; n < 9; n++) await setbacks.add('b', error, 'The input file is gone.');
    expect(failed).toEqual([]);
  });

  it('tells since when a batch waits for files, until something of it is stored', async () => {
    const silentBucket = new BlobError('unavailable', 'The bucket is silent.', 'Look.');
    const began = clock.now();
    await setbacks.add('b', silentBucket, null);
    await clock.advance(30_000);
    await setbacks.add('b', silentBucket, null);
    expect(setbacks.storage('b')).toMatchObject({ reason: 'storage_unavailable', since: began });
    setbacks.goesOn('b');
    expect(setbacks.storage('b')).toBeNull();
    await clock.advance(30_000);
    await setbacks.add('b', silentBucket, null);
    expect(setbacks.storage('b')).toMatchObject({ since: began + 60_000 });
    await clock.advance(120_000);
    expect(setbacks.storage('b'), 'another process may go on with it').toBeNull();
    await setbacks.add('b', error, null);
    expect([setbacks.storage('b'), setbacks.storage('c')]).toEqual([null, null]);
  });

  it('forgets what was long ago', async () => {
    for (let n = 0; n < 9; n++) {
      await setbacks.add('b', error, 'The input file is gone.');
      await clock.advance(620_000);
    }
    expect(failed).toEqual([]);
  });
});

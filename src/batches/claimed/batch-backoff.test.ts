import { beforeEach, describe, expect, it } from 'vitest';
import { noEffects } from '../../../test/support/claimed-chunk.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { BlobError } from '../../core/blob-error.ts';
import { BatchBackoff } from './batch-backoff.ts';
import { LocalWork } from './local-work.ts';

describe('BatchBackoff', () => {
  let clock: ManualClock;
  let failed: string[];
  let backoff: BatchBackoff;
  const error = new Error('EIO');

  beforeEach(() => {
    clock = createManualClock();
    failed = [];
    backoff = new BatchBackoff({
      work: new LocalWork(clock, noEffects),
      clock,
      random: { bytes: (n) => new Uint8Array(n), float: () => 0 },
      log: silent,
      fail: async (batchId, message) => void failed.push(`${batchId}: ${message}`),
    });
  });

  it('lets a batch wait longer each time, and the others not at all', async () => {
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      await backoff.add('b', error, null);
      expect(backoff.isWaiting('c')).toBe(false);
      let ms = 0;
      for (; backoff.isWaiting('b'); ms += 500) await clock.advance(500);
      waits.push(ms);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    expect(failed).toEqual([]);
  });

  it('ends a batch whose own fault is met for the fourth time', async () => {
    for (let n = 0; n < 3; n++) {
      await backoff.add('b', error, 'The input file is gone.');
      await clock.advance(10_000);
    }
    expect(failed).toEqual([]);
    await backoff.add('b', error, 'The input file is gone.');
    expect(failed).toEqual(['b: The input file is gone.']);
  });

  it('counts the same error of many lines once', async () => {
    for (let n = 0; n < 9; n++) await backoff.add('b', error, 'The input file is gone.');
    expect(failed).toEqual([]);
  });

  it('shows since when a batch waits for storage, until something of it is stored', async () => {
    const silentBucket = new BlobError('unavailable', 'The bucket is silent.', 'Look.');
    const began = clock.now();
    await backoff.add('b', silentBucket, null);
    await clock.advance(30_000);
    await backoff.add('b', silentBucket, null);
    expect(backoff.storageWaiting('b')).toMatchObject({ reason: 'storage_unavailable', since: began });
    backoff.clearStorage('b');
    expect(backoff.storageWaiting('b')).toBeNull();
    await clock.advance(30_000);
    await backoff.add('b', silentBucket, null);
    expect(backoff.storageWaiting('b')).toMatchObject({ since: began + 60_000 });
    await clock.advance(120_000);
    expect(backoff.storageWaiting('b'), 'another process may go on with it').toBeNull();
    await backoff.add('b', error, null);
    expect([backoff.storageWaiting('b'), backoff.storageWaiting('c')]).toEqual([null, null]);
  });

  it('forgets old setbacks', async () => {
    for (let n = 0; n < 9; n++) {
      await backoff.add('b', error, 'The input file is gone.');
      await clock.advance(620_000);
    }
    expect(failed).toEqual([]);
  });
});

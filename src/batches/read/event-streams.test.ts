import { beforeEach, describe, expect, it } from 'vitest';
import { makeBatch } from '../../../test/store/fixtures.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { Batch } from '../../core/batch.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import { BatchEventStreams } from './event-streams.ts';

let clock: ManualClock;
let reads: number;
let batch: Partial<Batch>;
let broken: boolean;
let followers: BatchEventStreams;

beforeEach(() => {
  clock = createManualClock();
  reads = 0;
  batch = { status: 'in_progress' };
  broken = false;
  followers = new BatchEventStreams({
    clock,
    log: silent,
    async read() {
      reads++;
      if (broken) throw new Error('the database is away');
      return { batch: makeBatch(batch), running: 0, waiting: null, eta: reads } as unknown as BatchView;
    },
  });
});

/** States that a follower got, as their `ok`; an error at the end if there was one. */
function record(signal = new AbortController().signal) {
  const views: BatchView[] = [];
  const told: unknown[] = [];
  const ended = (async () => {
    try {
      for await (const view of followers.follow('b', signal)) {
        views.push(view);
        told.push(view.batch.ok);
      }
      told.push('end');
    } catch (error) {
      told.push((error as { code?: string }).code ?? error);
    }
  })();
  return { views, told, ended };
}

describe('followers of a batch', () => {
  it('yields the state and each change to all followers, from one read a second', async () => {
    const many = Array.from({ length: 500 }, () => record());
    await clock.advance(0);
    expect(reads).toBe(1);
    await clock.advance(3_500);
    expect([reads, many[0]!.told]).toEqual([4, [0]]);
    batch = { status: 'in_progress', ok: 5 };
    await clock.advance(1_000);
    expect(many.every(({ views }) => views[1] === many[0]!.views[1])).toBe(true);
    expect(clock.pending).toBe(1);
    const late = record();
    await clock.advance(0);
    expect([late.told, reads]).toEqual([[5], 5]);
    batch = { status: 'completed', ok: 8 };
    await clock.advance(1_000);
    await Promise.all([...many, late].map(({ ended }) => ended));
    expect([many[499]!.told, late.told]).toEqual([
      [0, 5, 8, 'end'],
      [5, 8, 'end'],
    ]);
    expect(clock.pending).toBe(0);
  });

  it('that are gone cost nothing', async () => {
    const left = new AbortController();
    const { ended, told } = record(left.signal);
    await clock.advance(2_500);
    left.abort('gone');
    await ended;
    expect(told).toEqual([0, 'gone']);
    await clock.advance(60_000);
    expect([reads, clock.pending]).toEqual([3, 0]);
  });

  it('wait while the batch cannot be read', async () => {
    broken = true;
    const { ended, told } = record();
    await clock.advance(5_000);
    expect(told).toEqual([]);
    broken = false;
    batch = { status: 'failed', err: 1 };
    await clock.advance(1_000);
    await ended;
    expect(told).toEqual([0, 'end']);
  });

  it('are sent away when the engine stops', async () => {
    const { ended, told } = record();
    await clock.advance(0);
    followers.stop();
    await ended;
    const late = record();
    await late.ended;
    expect([told, late.told, clock.pending]).toEqual([[0, 'shutting_down'], ['shutting_down'], 0]);
  });
});

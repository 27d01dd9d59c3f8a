import { describe, expect, it } from 'vitest';
import { claimedChunk, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { Lease } from '../../store/contract/claim.ts';
import { leaseOf } from './claimed-chunks.ts';
import { LocalWork } from './local-work.ts';

function working() {
  const clock = createManualClock();
  const back: Lease[] = [];
  const work = new LocalWork(clock, (leases) => void back.push(...leases));
  const batch = runningBatch();
  const chunk = claimedChunk({ batch });
  work.chunks.add(chunk);
  return { clock, work, batch, chunk, back };
}

describe('WorkInHand', () => {
  it('sends nothing more of a stopped batch, and aborts its calls when the grace is over', async () => {
    const { clock, work, batch, chunk } = working();
    work.chunks.take(chunk);
    work.stopBatch(batch.id, 2_000);
    expect([chunk.todo.length, work.batch(batch.id)]).toEqual([0, batch]);
    await clock.advance(1_999);
    expect(batch.abort.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(batch.abort.signal.aborted).toBe(true);
  });

  it('lets go of a stopped batch when its last line has landed', () => {
    const { work, batch, chunk } = working();
    work.chunks.take(chunk);
    work.stopBatch(batch.id, 0);
    work.settle(chunk);
    expect(work.batch(batch.id)).toBe(batch);
    work.chunks.landed(chunk);
    work.settle(chunk);
    expect([work.batch(batch.id), work.chunks.leases]).toEqual([undefined, []]);
  });

  it('gives back each chunk that it yields once nothing of it is in flight', () => {
    const { work, batch, chunk, back } = working();
    const idle = claimedChunk({ batch, seq: 2 });
    work.chunks.add(idle);
    const ref = work.chunks.take(chunk)!;
    work.yieldBatch(batch.id);
    expect([chunk.todo, idle.todo, back.map(({ seq }) => seq)]).toEqual([[], [], [2]]);
    // The next owner of the chunk retries the line.
    work.chunks.park(chunk, ref);
    work.chunks.putBack(chunk, ref);
    work.chunks.landed(chunk);
    work.settle(chunk);
    work.settle(chunk);
    expect(back.map(({ seq }) => seq)).toEqual([2, 1]);
    expect([work.chunks.leases, work.chunks.unsent('m')]).toEqual([[], 0]);
    expect(batch.abort.signal.aborted).toBe(false);
  });

  it('keeps a yielded chunk until its last line has ended, and sends again after a resume', () => {
    const { work, batch, chunk, back } = working();
    work.chunks.take(chunk);
    work.yieldBatch(batch.id);
    work.resumeBatch(batch.id);
    const next = claimedChunk({ batch, seq: 2 });
    work.chunks.add(next);
    expect([batch.yielding, next.yielding, chunk.yielding, back]).toEqual([false, false, true, []]);
    work.chunks.landed(chunk);
    work.settle(chunk);
    expect([back.map(({ seq }) => seq), work.batch(batch.id), next.todo.length]).toEqual([[1], batch, 2]);
  });

  it('aborts the calls of a yielded batch that is cancelled', () => {
    const { work, batch, chunk } = working();
    work.chunks.take(chunk);
    work.yieldBatch(batch.id);
    work.stopBatch(batch.id, 0);
    expect(batch.abort.signal.aborted).toBe(true);
  });

  it('drops everything at once when it ends', () => {
    const { work, batch, chunk } = working();
    work.chunks.take(chunk);
    work.dropAll(new Error('lost'));
    expect(batch.abort.signal.reason).toEqual(new Error('lost'));
    expect([work.batches(), work.chunks.leases, work.chunks.unsent('m')]).toEqual([[], [], 0]);
  });

  it('sends no more of chunks that other processes have taken, but lets lines in flight end', () => {
    const { work, batch, chunk, back } = working();
    const kept = claimedChunk({ batch, seq: 2 });
    work.chunks.add(kept);
    work.chunks.take(chunk);
    work.keepOnly([{ ...leaseOf(chunk.chunk), epoch: 9 }, leaseOf(kept.chunk)]);
    expect([chunk.todo.length, kept.todo.length, batch.abort.signal.aborted]).toEqual([0, 2, false]);
    work.chunks.landed(chunk);
    work.settle(chunk);
    expect([work.chunks.leases, back]).toEqual([[leaseOf(kept.chunk)], [leaseOf(chunk.chunk)]]);
  });

  it('knows a batch for as long as a chunk of it is in hand', () => {
    const { work, batch, chunk } = working();
    work.chunks.add(claimedChunk({ batch, seq: 2 }));
    expect(work.batches()).toEqual([batch]);
    for (const claimed of work.chunks.ofBatch(batch.id)) work.chunks.retire(claimed);
    expect([work.batches(), work.batch(batch.id), chunk.batch]).toEqual([[], undefined, batch]);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import type { Lease } from '../../store/contract/claim.ts';
import { type ClaimedChunk, leaseOf, type RunningBatch } from './claimed-chunks.ts';
import { LocalWork } from './local-work.ts';

describe('LocalWork', () => {
  let clock: ManualClock;
  let released: number[];
  let finished: ClaimedChunk[];
  let retries: number;
  let work: LocalWork;
  let batch: RunningBatch;
  let chunk: ClaimedChunk;

  beforeEach(() => {
    clock = createManualClock();
    released = [];
    finished = [];
    retries = 0;
    work = new LocalWork(clock, {
      release: ({ seq }: Lease) => void released.push(seq),
      finish: (claimed) => void finished.push(claimed),
    });
    batch = runningBatch();
    chunk = claimedChunk({ batch });
    work.chunks.add(chunk);
  });

  const onRetry = () => void retries++;
  const states = (claimed = chunk) => claimed.lines.map(({ state }) => state);

  it('finishes a chunk with its last answer', () => {
    const [first, second] = [work.send(chunk)!, work.send(chunk)!];
    expect(work.send(chunk)).toBeUndefined();
    work.answered(second);
    expect([chunk.state, finished]).toEqual(['open', []]);
    work.answered(first);
    expect([chunk.state, finished, work.batches()]).toEqual(['finished', [chunk], []]);
    expect(work.chunks.leases).toEqual([leaseOf(chunk.chunk)]);
  });

  it('sends a line that backs off before the others, when its pause is over', async () => {
    const line = work.send(chunk)!;
    work.backOff(line, 1_000, onRetry);
    expect([states(), work.chunks.unsent('m')]).toEqual([['backing off', 'queued'], 1]);
    await clock.advance(999);
    expect(retries).toBe(0);
    await clock.advance(1);
    expect([retries, work.send(chunk)]).toEqual([1, line]);
  });

  it('sends parked lines after the others, when their model takes requests', () => {
    const line = work.send(chunk)!;
    work.park(line);
    expect([states(), work.chunks.unsent('m')]).toEqual([['parked', 'queued'], 2]);
    expect([work.unpark('n'), work.unpark('m'), work.unpark('m')]).toEqual([false, true, false]);
    work.send(chunk);
    expect(work.send(chunk)).toBe(line);
  });

  it('sends nothing more of a stopped batch, and aborts its calls when the grace is over', async () => {
    work.send(chunk);
    work.stopBatch(batch.id, 2_000);
    expect([states(), work.batch(batch.id)]).toEqual([['sent', 'returned'], batch]);
    await clock.advance(1_999);
    expect(batch.abort.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(batch.abort.signal.aborted).toBe(true);
  });

  it('drops a chunk of a stopped batch when its last line has landed', () => {
    const line = work.send(chunk)!;
    work.stopBatch(batch.id, 0);
    expect(work.batch(batch.id)).toBe(batch);
    work.answered(line);
    expect([work.batch(batch.id), work.chunks.leases, released]).toEqual([undefined, [], []]);
  });

  it('releases each chunk that yields once nothing of it is in flight', async () => {
    const idle = claimedChunk({ batch, seq: 2, lines: 1 });
    work.chunks.add(idle);
    const [first, second] = [work.send(chunk)!, work.send(chunk)!];
    work.yieldBatch(batch.id);
    expect([states(), states(idle), released]).toEqual([['sent', 'sent'], ['returned'], [2]]);
    // The next owner of the chunk sends the lines.
    work.park(first);
    work.backOff(second, 10, onRetry);
    expect([states(), released]).toEqual([
      ['returned', 'returned'],
      [2, 1],
    ]);
    await clock.advance(10);
    expect([work.chunks.leases, work.chunks.unsent('m'), batch.abort.signal.aborted]).toEqual([[], 0, false]);
  });

  it('forgets a line that backs off in a chunk that yields', async () => {
    work.backOff(work.send(chunk)!, 10, onRetry);
    work.yieldChunk(chunk);
    await clock.advance(10);
    expect([states(), released, work.chunks.unsent('m')]).toEqual([['returned', 'returned'], [1], 0]);
  });

  it('sends further chunks of a batch after a resume', () => {
    const line = work.send(chunk)!;
    work.yieldBatch(batch.id);
    work.resumeBatch(batch.id);
    const next = claimedChunk({ batch, seq: 2 });
    work.chunks.add(next);
    expect([batch.state, next.state, chunk.state]).toEqual(['running', 'open', 'yielding']);
    work.answered(line);
    expect([released, work.batch(batch.id), work.chunks.unsent('m')]).toEqual([[1], batch, 2]);
  });

  it('aborts the calls of a yielded batch that is cancelled', () => {
    work.send(chunk);
    work.yieldBatch(batch.id);
    work.stopBatch(batch.id, 0);
    work.resumeBatch(batch.id);
    expect([batch.state, chunk.state, batch.abort.signal.aborted]).toEqual(['stopping', 'stopping', true]);
  });

  it('leaves a chunk to another owner if the text of a line cannot be read', () => {
    const [first, second] = [work.send(chunk)!, work.send(chunk)!];
    work.withdraw(first);
    expect([chunk.state, released]).toEqual(['yielding', []]);
    work.answered(second);
    expect([states(), chunk.state, released]).toEqual([['returned', 'done'], 'released', [1]]);
  });

  it('drops everything at once when it ends', () => {
    const [first, second] = [work.send(chunk)!, work.send(chunk)!];
    work.dropAll(new Error('lost'));
    expect(batch.abort.signal.reason).toEqual(new Error('lost'));
    expect([work.batches(), work.chunks.leases, work.chunks.unsent('m')]).toEqual([[], [], 0]);
    work.withdraw(first);
    work.answered(second);
    expect([released, finished, work.chunks.totalInFlight()]).toEqual([[], [], 0]);
  });

  it('records a dropped chunk as finished if all its answers arrived', () => {
    const lines = [work.send(chunk)!, work.send(chunk)!];
    work.dropAll(new Error('lost'));
    for (const line of lines) work.answered(line);
    expect(finished).toEqual([chunk]);
  });

  it('sends no more of chunks that other processes have taken, but lets lines in flight end', () => {
    const kept = claimedChunk({ batch, seq: 2 });
    work.chunks.add(kept);
    const line = work.send(chunk)!;
    work.keepOnly([{ ...leaseOf(chunk.chunk), epoch: 9 }, leaseOf(kept.chunk)]);
    expect([states(), kept.state, batch.abort.signal.aborted]).toEqual([['sent', 'returned'], 'open', false]);
    work.answered(line);
    expect([work.chunks.leases, released]).toEqual([[leaseOf(kept.chunk)], [1]]);
  });

  it('ends a cancelled request at once, or with its call', () => {
    const group = runningBatch({ id: 'group_1' });
    const requests = claimedChunk({ batch: group, lines: 3 });
    work.chunks.add(requests);
    const sent = work.send(requests)!;
    sent.call = new AbortController();
    for (const { ref } of requests.lines) work.cancelRequest({ batchId: 'group_1', line: ref.line });
    expect([states(requests), sent.call.signal.aborted]).toEqual([['cancelling', 'done', 'done'], true]);
    expect([work.requests(), work.send(requests), finished]).toEqual([[], undefined, []]);
    work.cancelRequest({ batchId: 'group_1', line: sent.ref.line });
    work.answered(sent);
    expect(finished).toEqual([requests]);
  });

  it('lists the single requests that it has sent or will send', () => {
    const group = runningBatch({ id: 'group_1' });
    const requests = claimedChunk({ batch: group, lines: 2 });
    work.chunks.add(requests);
    work.answered(work.send(requests)!);
    expect(work.requests()).toEqual([{ batchId: 'group_1', line: requests.lines[1]!.ref.line }]);
  });
});

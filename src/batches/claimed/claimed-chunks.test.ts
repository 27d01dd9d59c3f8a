import { describe, expect, it } from 'vitest';
import { claimedChunk, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { ClaimedChunks, leaseOf } from './claimed-chunks.ts';

describe('ClaimedChunks', () => {
  it('counts unsent lines and lines in flight, by model', () => {
    const chunks = new ClaimedChunks();
    const chunk = claimedChunk({ lines: 3 });
    chunks.add(chunk);
    const ref = chunks.take(chunk)!;
    expect([chunks.unsent('m'), chunks.inFlight('m'), chunks.inFlight('n'), chunks.totalInFlight()]).toEqual([
      2, 1, 0, 1,
    ]);
    chunks.landed(chunk);
    chunks.putBack(chunk, ref);
    expect([chunks.unsent('m'), chunks.inFlight('m')]).toEqual([3, 0]);
    expect(chunk.todo[0]).toBe(ref);
  });

  it('keeps the lease of a retired chunk until it is recorded as finished', () => {
    const chunks = new ClaimedChunks();
    const chunk = claimedChunk({});
    chunks.add(chunk);
    chunks.retire(chunk);
    expect([chunks.has(chunk), chunks.unsent('m'), chunks.leases]).toEqual([
      false,
      0,
      [leaseOf(chunk.chunk)],
    ]);
    chunks.unlease(leaseOf(chunk.chunk));
    expect(chunks.leases).toEqual([]);
  });

  it('does not give up a lease for the end of an earlier one on the same chunk', () => {
    const chunks = new ClaimedChunks();
    chunks.lease({ batchId: 'b', seq: 1, epoch: 2 });
    chunks.unlease({ batchId: 'b', seq: 1, epoch: 1 });
    expect(chunks.leases).toHaveLength(1);
  });

  it('ignores lines returned to a dropped chunk', () => {
    const chunks = new ClaimedChunks();
    const chunk = claimedChunk({ lines: 1 });
    chunks.add(chunk);
    const ref = chunks.take(chunk)!;
    chunks.drop(chunk);
    chunks.putBack(chunk, ref);
    chunks.landed(chunk);
    expect([chunks.unsent('m'), chunks.totalInFlight(), chunks.leases]).toEqual([0, 0, []]);
  });

  it('lists the chunks of a batch and the suspects among them', () => {
    const chunks = new ClaimedChunks();
    chunks.add(claimedChunk({ seq: 1 }));
    expect(chunks.suspects).toEqual([]);
    chunks.add(claimedChunk({ seq: 1, batch: runningBatch({ id: 'b' }), suspect: true }));
    expect(chunks.suspects).toHaveLength(1);
    expect(chunks.ofBatch('b')).toHaveLength(1);
  });
});

import { describe, expect, it } from 'vitest';
import { heldChunk, runningBatch } from '../../../test/support/held-chunk.ts';
import { HeldChunks, leaseOf } from './held-chunks.ts';

describe('HeldChunks', () => {
  it('counts what was not sent and what is in flight, by model', () => {
    const held = new HeldChunks();
    const chunk = heldChunk({ lines: 3 });
    held.add(chunk);
    const ref = held.take(chunk)!;
    expect([held.unsent('m'), held.inFlight('m'), held.inFlight('n'), held.totalInFlight()]).toEqual([
      2, 1, 0, 1,
    ]);
    held.landed(chunk);
    held.putBack(chunk, ref);
    expect([held.unsent('m'), held.inFlight('m')]).toEqual([3, 0]);
    expect(chunk.todo[0]).toBe(ref);
  });

  it('keeps the lease of a retired chunk until it is recorded as finished', () => {
    const held = new HeldChunks();
    const chunk = heldChunk({});
    held.add(chunk);
    held.retire(chunk);
    expect([held.has(chunk), held.unsent('m'), held.leases]).toEqual([false, 0, [leaseOf(chunk.chunk)]]);
    held.unlease(leaseOf(chunk.chunk));
    expect(held.leases).toEqual([]);
  });

  it('does not give up a lease for the end of an earlier one on the same chunk', () => {
    const held = new HeldChunks();
    held.lease({ batchId: 'b', seq: 1, epoch: 2 });
    held.unlease({ batchId: 'b', seq: 1, epoch: 1 });
    expect(held.leases).toHaveLength(1);
  });

  it('takes nothing back into a chunk that was dropped', () => {
    const held = new HeldChunks();
    const chunk = heldChunk({ lines: 1 });
    held.add(chunk);
    const ref = held.take(chunk)!;
    held.drop(chunk);
    held.putBack(chunk, ref);
    held.landed(chunk);
    expect([held.unsent('m'), held.totalInFlight(), held.leases]).toEqual([0, 0, []]);
  });

  it('tells the chunks of a batch and the suspects among them', () => {
    const held = new HeldChunks();
    held.add(heldChunk({ seq: 1 }));
    expect(held.suspects).toEqual([]);
    held.add(heldChunk({ seq: 1, batch: runningBatch({ id: 'b' }), suspect: true }));
    expect(held.suspects).toHaveLength(1);
    expect(held.ofBatch('b')).toHaveLength(1);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { ClaimedChunks, leaseOf } from './claimed-chunks.ts';

describe('ClaimedChunks', () => {
  let chunks: ClaimedChunks;
  beforeEach(() => {
    chunks = new ClaimedChunks();
  });

  it('counts unsent lines and lines in flight, by model', () => {
    const claimed = claimedChunk({ lines: 3 });
    chunks.add(claimed);
    const counts = () => [
      chunks.unsent('m'),
      chunks.inFlight('m'),
      chunks.inFlight('n'),
      chunks.totalInFlight(),
    ];
    chunks.moveLine(claimed.lines[0]!, 'send');
    expect(counts()).toEqual([2, 1, 0, 1]);
    chunks.moveLine(claimed.lines[0]!, 'park');
    expect([counts(), chunks.hasParked('m'), chunks.unsentOf('batch_1')]).toEqual([[3, 0, 0, 0], true, 3]);
    chunks.moveLine(claimed.lines[0]!, 'withdraw');
    expect([counts(), chunks.hasParked('m')]).toEqual([[2, 0, 0, 0], false]);
    expect(claimed.count).toMatchObject({ queued: 2, returned: 1, sent: 0 });
  });

  it('counts interactive requests only while they wait for their model', () => {
    const claimed = claimedChunk({ batch: runningBatch({ isInteractive: true }), lines: 1 });
    chunks.add(claimed);
    chunks.moveLine(claimed.lines[0]!, 'send');
    expect([chunks.unsent('m'), chunks.inFlight('m')]).toEqual([0, 0]);
    chunks.moveLine(claimed.lines[0]!, 'park');
    expect([chunks.unsent('m'), chunks.hasParked('m')]).toEqual([0, true]);
  });

  it('refuses what cannot happen to a line', () => {
    const claimed = claimedChunk({});
    chunks.add(claimed);
    chunks.moveLine(claimed.lines[0]!, 'send');
    expect(() => chunks.moveLine(claimed.lines[0]!, 'send')).toThrow(
      "'send' happened to a line that is sent.",
    );
    chunks.moveLine(claimed.lines[0]!, 'answer');
    expect(() => chunks.moveLine(claimed.lines[0]!, 'answer')).toThrow('a line that is done');
    expect(chunks.inFlight('m')).toBe(0);
  });

  it('keeps the lease of a finished chunk until it is recorded', () => {
    const claimed = claimedChunk({});
    chunks.add(claimed);
    expect(chunks.moveChunk(claimed, 'complete')).toBe(true);
    expect([[...chunks.all], chunks.leases]).toEqual([[], [leaseOf(claimed.chunk)]]);
    chunks.unlease(leaseOf(claimed.chunk));
    expect(chunks.leases).toEqual([]);
  });

  it('gives up the lease of a chunk that is dropped or released', () => {
    for (const [seq, event] of [
      [1, 'drop'],
      [2, 'idle'],
    ] as const) {
      const claimed = claimedChunk({ seq });
      chunks.add(claimed);
      expect(chunks.moveChunk(claimed, 'idle')).toBe(false);
      chunks.moveChunk(claimed, 'yield');
      expect(chunks.moveChunk(claimed, event)).toBe(true);
      expect([[...chunks.all], chunks.leases]).toEqual([[], []]);
    }
  });

  it('does not give up a lease for the end of an earlier one on the same chunk', () => {
    const before = claimedChunk({});
    const again = claimedChunk({});
    again.chunk.epoch = 2;
    chunks.add(before);
    chunks.add(again);
    chunks.moveChunk(before, 'drop');
    expect([[...chunks.all], chunks.leases]).toEqual([[again], [leaseOf(again.chunk)]]);
  });

  it('lists the chunks of a batch and the suspects among them', () => {
    chunks.add(claimedChunk({ seq: 1 }));
    expect(chunks.suspects).toEqual([]);
    chunks.add(claimedChunk({ seq: 1, batch: runningBatch({ id: 'b' }), suspect: true }));
    expect(chunks.suspects).toHaveLength(1);
    expect(chunks.ofBatch('b')).toHaveLength(1);
  });
});

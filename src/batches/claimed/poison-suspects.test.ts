import { describe, expect, it } from 'vitest';
import { claimedChunk } from '../../../test/support/claimed-chunk.ts';
import type { ClaimedChunk } from './claimed-chunks.ts';
import { ClaimedChunks, leaseOf } from './claimed-chunks.ts';
import { settledMs, PoisonSuspects } from './poison-suspects.ts';

/** In a process that has lived for `livedMs`. */
function setUp(livedMs = settledMs) {
  const chunks = new ClaimedChunks();
  let now = 1000;
  const suspects = new PoisonSuspects(chunks, { monotonic: () => now });
  now += livedMs;
  return { chunks, suspects };
}

let seq = 0;

function single(kills: number): ClaimedChunk {
  const claimed = claimedChunk({ seq: ++seq, lines: 1, suspect: kills >= 2 });
  claimed.chunk.kills = kills;
  return claimed;
}

describe('suspects', () => {
  it('may be claimed one at a time, also to run alone, while none is claimed', () => {
    const { chunks, suspects } = setUp();
    chunks.add(single(0));
    expect(suspects.room).toEqual({ minKills: 2, max: 1, mayTakeAlone: true });
  });

  it('run alone only in a process that has lived for a while', () => {
    expect(setUp(settledMs - 1).suspects.room).toEqual({ minKills: 2, max: 1, mayTakeAlone: false });
  });

  it('run one at a time at first, beside lines that are none', () => {
    const { chunks, suspects } = setUp();
    chunks.add(single(2));
    expect(suspects.room).toEqual({ minKills: 2, max: 0, mayTakeAlone: false });
  });

  it('run one more at a time for each that was answered', () => {
    const { chunks, suspects } = setUp();
    for (let answered = 0; answered < 5; answered++) suspects.answered();
    chunks.add(single(2));
    for (let running = 1; running < 6; running++) {
      expect(suspects.room).toEqual({ minKills: 2, max: 6 - running, mayTakeAlone: false });
      chunks.add(single(2));
    }
    expect(suspects.room.max).toBe(0);
  });

  it('run alone once they were running at a further death, until their end is recorded', () => {
    const { chunks, suspects } = setUp();
    for (let answered = 0; answered < 5; answered++) suspects.answered();
    const grave = single(3);
    chunks.add(grave);
    expect(suspects.room).toEqual({ minKills: 2, max: 0, mayTakeAlone: false });
    chunks.moveChunk(grave, 'complete');
    expect(suspects.room.max).toBe(0);
    chunks.unlease(leaseOf(grave.chunk));
    expect(suspects.room).toEqual({ minKills: 2, max: 6, mayTakeAlone: true });
  });
});

import { describe, expect, it } from 'vitest';
import type { HeldChunk } from './held-chunks.ts';
import { HeldChunks, leaseOf } from './held-chunks.ts';
import { Suspects } from './suspects.ts';

function setUp() {
  const held = new HeldChunks();
  return { held, suspects: new Suspects(held) };
}

let seq = 0;

function single(kills: number): HeldChunk {
  const chunk = {
    batchId: 'batch_a',
    seq: ++seq,
    model: 'tiny',
    prefix: '',
    lines: [],
    est: 1,
    epoch: 1,
    kills,
  };
  return { chunk, todo: [], inFlight: 0, remaining: 1, suspect: kills >= 2 } as unknown as HeldChunk;
}

describe('suspects', () => {
  it('run one at a time at first', () => {
    const { held, suspects } = setUp();
    held.add(single(0));
    expect(suspects.mayRun(2)).toBe(true);
    held.add(single(2));
    expect(suspects.mayRun(2)).toBe(false);
  });

  it('run one more at a time for each that was answered', () => {
    const { held, suspects } = setUp();
    for (let answered = 0; answered < 5; answered++) suspects.answered();
    for (let running = 0; running < 6; running++) {
      expect(suspects.mayRun(2)).toBe(true);
      held.add(single(2));
    }
    expect(suspects.mayRun(2)).toBe(false);
  });

  it('run alone once they were running at a further death', () => {
    const { held, suspects } = setUp();
    for (let answered = 0; answered < 5; answered++) suspects.answered();
    const other = single(2);
    held.add(other);
    expect(suspects.mayRun(3)).toBe(false);
    held.retire(other);
    expect(suspects.mayRun(3)).toBe(false);
    held.unlease(leaseOf(other.chunk));
    expect(suspects.mayRun(3)).toBe(true);
    held.add(single(3));
    expect(suspects.mayRun(2)).toBe(false);
  });
});

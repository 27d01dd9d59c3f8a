import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, noEffects, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { ClaimedChunks } from '../claimed/claimed-chunks.ts';
import { LocalWork } from '../claimed/local-work.ts';
import { asLate } from '../../core/urgency.ts';
import * as nextLine from './next-line.ts';

const unserved = { served: () => 0 };
const noLeaders = { shouldWait: () => false };

function nextChunk(
  chunks: ClaimedChunks,
  model: string,
  { served, owed = 0 }: { served: (orgId: string) => number; owed?: number },
  warmup: Parameters<typeof nextLine.nextChunk>[3],
) {
  return nextLine.nextChunk(chunks, model, { served, owed }, warmup)?.claimed;
}

describe('nextChunk', () => {
  let work: LocalWork;
  let chunks: ClaimedChunks;
  beforeEach(() => {
    work = new LocalWork(createManualClock(), noEffects);
    ({ chunks } = work);
  });

  it('takes only lines of the model that are there, of chunks that send', () => {
    chunks.add(claimedChunk({ seq: 1, model: 'other' }));
    chunks.add(claimedChunk({ seq: 2, lines: 0 }));
    const yielding = claimedChunk({ seq: 3 });
    work.chunks.add(yielding);
    work.yieldChunk(yielding);
    expect(nextChunk(chunks, 'm', unserved, noLeaders)).toBeUndefined();
    const good = claimedChunk({ seq: 4 });
    chunks.add(good);
    expect(nextChunk(chunks, 'm', unserved, noLeaders)).toBe(good);
  });

  it('prefers the org served least, then the batch due first', () => {
    const rich = claimedChunk({ seq: 1, batch: runningBatch({ id: 'a', orgId: 'rich', due: 1 }) });
    const late = claimedChunk({ seq: 2, batch: runningBatch({ id: 'b', orgId: 'poor', due: 9 }) });
    const soon = claimedChunk({ seq: 3, batch: runningBatch({ id: 'c', orgId: 'poor', due: 5 }) });
    for (const each of [rich, late, soon]) chunks.add(each);
    const served = (orgId: string) => (orgId === 'rich' ? 2 : 1);
    expect(nextChunk(chunks, 'm', { served }, noLeaders)).toBe(soon);
    work.yieldChunk(soon);
    expect(nextChunk(chunks, 'm', { served }, noLeaders)).toBe(late);
  });

  it('goes round the chunks, so that each prefix finds its own slot', () => {
    for (const seq of [1, 2, 3]) chunks.add(claimedChunk({ seq }));
    const taken = Array.from({ length: 6 }, () => {
      const next = nextChunk(chunks, 'm', unserved, noLeaders)!;
      work.send(next);
      return next.chunk.seq;
    });
    expect(taken).toEqual([1, 2, 3, 1, 2, 3]);
  });

  it('takes a chunk whose leader is under way last of all', () => {
    const following = claimedChunk({ seq: 1, prefix: 'cold' });
    const free = claimedChunk({ seq: 2, batch: runningBatch({ id: 'b', due: 99 }) });
    chunks.add(following);
    chunks.add(free);
    const leaders = { shouldWait: (_model: string, prefix: string) => prefix === 'cold' };
    expect(nextChunk(chunks, 'm', unserved, leaders)).toBe(free);
    work.yieldChunk(free);
    expect(nextChunk(chunks, 'm', unserved, leaders)).toBe(following);
  });

  describe('late chunks', () => {
    const add = (orgId: string, due: number, fields: Parameters<typeof claimedChunk>[0] = {}) => {
      const claimed = claimedChunk({ ...fields, batch: runningBatch({ id: `b_${orgId}`, orgId, due }) });
      chunks.add(claimed);
      return claimed;
    };
    const served = (orgId: string) => ({ first: 0, second: 10, late: 20, far: 1_000_000 })[orgId]!;
    const next = (owed: number, warmup: Parameters<typeof nextLine.nextChunk>[3] = noLeaders) =>
      nextLine.nextChunk(chunks, 'm', { served, owed }, warmup);

    it('go before the turn of their org, once the tokens that late work took are given in turn', () => {
      const first = add('first', 1);
      const late = add('late', asLate(5));
      add('second', 1);
      expect(next(0)).toEqual({ claimed: late, isAhead: true });
      expect(next(1)).toEqual({ claimed: first, isAhead: false });
      work.yieldChunk(late);
      expect(next(0)).toEqual({ claimed: first, isAhead: false });
    });

    it('of an org whose turn it is go in turn', () => {
      const late = add('first', asLate(5));
      add('late', asLate(1));
      expect(next(0)).toEqual({ claimed: late, isAhead: false });
    });

    it('of an org that is far ahead wait', () => {
      const first = add('first', 1);
      add('far', asLate(5));
      expect(next(0)?.claimed).toBe(first);
    });

    it('whose leader is under way wait', () => {
      const first = add('first', 1);
      add('late', asLate(5), { prefix: 'cold' });
      const leaders = { shouldWait: (_model: string, prefix: string) => prefix === 'cold' };
      expect(next(0, leaders)?.claimed).toBe(first);
    });
  });
});

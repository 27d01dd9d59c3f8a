import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, noEffects, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { ClaimedChunks } from '../claimed/claimed-chunks.ts';
import { LocalWork } from '../claimed/local-work.ts';
import { nextChunk } from './next-line.ts';

const unserved = { served: () => 0 };
const noLeaders = { shouldWait: () => false };

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
});

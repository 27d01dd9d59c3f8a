import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { ClaimedChunks } from '../claimed/claimed-chunks.ts';
import { nextChunk } from './next-line.ts';

const unserved = { served: () => 0 };
const noLeaders = { shouldWait: () => false };

describe('nextChunk', () => {
  let chunks: ClaimedChunks;
  beforeEach(() => {
    chunks = new ClaimedChunks();
  });

  it('takes only lines of the model, that are there, of batches that go on', () => {
    chunks.add(claimedChunk({ seq: 1, model: 'other' }));
    chunks.add(claimedChunk({ seq: 2, lines: 0 }));
    chunks.add(claimedChunk({ seq: 3, batch: runningBatch({ id: 'batch_2', stopping: true }) }));
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
    chunks.clearTodo(soon);
    expect(nextChunk(chunks, 'm', { served }, noLeaders)).toBe(late);
  });

  it('goes round the chunks, so that each prefix finds its own slot', () => {
    for (const seq of [1, 2, 3]) chunks.add(claimedChunk({ seq }));
    const taken = Array.from({ length: 6 }, () => {
      const next = nextChunk(chunks, 'm', unserved, noLeaders)!;
      chunks.take(next);
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
    chunks.clearTodo(free);
    expect(nextChunk(chunks, 'm', unserved, leaders)).toBe(following);
  });
});

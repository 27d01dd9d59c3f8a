import { beforeEach, describe, expect, it } from 'vitest';
import { heldChunk, runningBatch } from '../../../test/support/held-chunk.ts';
import { HeldChunks } from '../claimed/held-chunks.ts';
import { nextChunk } from './next-line.ts';

const nobody = { served: () => 0 };
const noLeaders = { shouldWait: () => false };

describe('nextChunk', () => {
  let held: HeldChunks;
  beforeEach(() => {
    held = new HeldChunks();
  });

  it('takes only lines of the model, that are there, of batches that go on', () => {
    held.add(heldChunk({ seq: 1, model: 'other' }));
    held.add(heldChunk({ seq: 2, lines: 0 }));
    held.add(heldChunk({ seq: 3, batch: runningBatch({ id: 'batch_2', stopping: true }) }));
    expect(nextChunk(held, 'm', nobody, noLeaders)).toBeUndefined();
    const good = heldChunk({ seq: 4 });
    held.add(good);
    expect(nextChunk(held, 'm', nobody, noLeaders)).toBe(good);
  });

  it('prefers the org served least, then the batch due first', () => {
    const rich = heldChunk({ seq: 1, batch: runningBatch({ id: 'a', orgId: 'rich', due: 1 }) });
    const late = heldChunk({ seq: 2, batch: runningBatch({ id: 'b', orgId: 'poor', due: 9 }) });
    const soon = heldChunk({ seq: 3, batch: runningBatch({ id: 'c', orgId: 'poor', due: 5 }) });
    for (const each of [rich, late, soon]) held.add(each);
    const served = (orgId: string) => (orgId === 'rich' ? 2 : 1);
    expect(nextChunk(held, 'm', { served }, noLeaders)).toBe(soon);
    held.clearTodo(soon);
    expect(nextChunk(held, 'm', { served }, noLeaders)).toBe(late);
  });

  it('goes round the chunks, so that each prefix finds its own slot', () => {
    const chunks = [1, 2, 3].map((seq) => heldChunk({ seq }));
    for (const each of chunks) held.add(each);
    const taken = Array.from({ length: 6 }, () => {
      const next = nextChunk(held, 'm', nobody, noLeaders)!;
      held.take(next);
      return next.chunk.seq;
    });
    expect(taken).toEqual([1, 2, 3, 1, 2, 3]);
  });

  it('takes a chunk whose leader is under way last of all', () => {
    const following = heldChunk({ seq: 1, prefix: 'cold' });
    const free = heldChunk({ seq: 2, batch: runningBatch({ id: 'b', due: 99 }) });
    held.add(following);
    held.add(free);
    const leaders = { shouldWait: (_model: string, prefix: string) => prefix === 'cold' };
    expect(nextChunk(held, 'm', nobody, leaders)).toBe(free);
    held.clearTodo(free);
    expect(nextChunk(held, 'm', nobody, leaders)).toBe(following);
  });
});

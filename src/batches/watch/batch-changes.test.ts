import { beforeEach, describe, expect, it } from 'vitest';
import { makeBatch } from '../../../test/store/fixtures.ts';
import type { Batch } from '../../core/batch.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import { type BatchMatcher, createMatcher, type StreamFilters } from '../read/match.ts';
import { BatchChanges, type ChangePage } from './batch-changes.ts';

let changes: BatchChanges;
beforeEach(() => void (changes = new BatchChanges('wrk_1')));

const view = (id: string, fields: Partial<Batch> = {}, more: Partial<BatchView> = {}) =>
  ({ batch: makeBatch({ id, ...fields }), waiting: null, atRisk: false, ...more }) as BatchView;
const idOf = (name: string) => name;
const all = createMatcher({ idOf }, {});
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Opens a stream, and collects its pages as they come. */
function open(matcher: BatchMatcher = all, position?: string, key = 'all') {
  const gone = new AbortController();
  const pages: ChangePage[] = [];
  const seen: string[] = [];
  const ended = (async () => {
    try {
      for await (const page of changes.read(key, matcher, position, gone.signal)) {
        pages.push(page);
        if (page.changes.length === 0) seen.push(page.complete ? 'ready' : 'incomplete');
        seen.push(...page.changes.map((each) => `${each.id} ${each.view ? each.view.batch.ok : 'deleted'}`));
      }
    } catch (error) {
      seen.push((error as { code?: string }).code ?? String(error));
    }
  })();
  return { pages, seen, ended, leave: () => gone.abort('gone') };
}

describe('changes of batches', () => {
  it('reach all readers, as one page for those with the same filter', async () => {
    const readers = Array.from({ length: 200 }, () => open());
    await settle();
    changes.add([view('a', { ok: 1 }), view('b')]);
    await settle();
    changes.add([view('a', { ok: 2 })]);
    await settle();
    expect(readers[199]!.seen).toEqual(['incomplete', 'a 1', 'b 0', 'a 2']);
    expect(readers.every(({ pages }) => pages[1] === readers[0]!.pages[1])).toBe(true);
    expect(changes.readers).toBe(200);
    for (const { leave } of readers) leave();
    await Promise.all(readers.map(({ ended }) => ended));
    expect(changes.readers).toBe(0);
  });

  it('are skipped but the last of each batch, for a reader that is slow', async () => {
    const reading = changes.read('all', all, undefined, new AbortController().signal);
    await reading.next();
    for (let ok = 1; ok <= 1_000; ok++) changes.add([view('a', { ok }), view(`b${ok % 3}`, { ok })]);
    const { value: page } = (await reading.next()) as { value: ChangePage };
    expect(page.changes.map(({ id, view: last }) => `${id} ${last?.batch.ok}`)).toEqual([
      'b2 998',
      'b0 999',
      'a 1000',
      'b1 1000',
    ]);
  });

  it('continue after the last position, unless it is of another process or forgotten', async () => {
    changes.add([view('a', { ok: 1 })]);
    const first = open();
    await settle();
    changes.add([view('b')]);
    await settle();
    const position = first.pages.at(-1)!.position;
    expect(position).toBe('wrk_1.2');
    changes.add([view('a', { ok: 2 })]);
    for (const [from, expected] of [
      [position, ['ready', 'a 2']],
      ['wrk_1.0', ['ready', 'b 0', 'a 2']],
      ['wrk_1.3', ['ready']],
      ['wrk_1.4', ['incomplete']],
      ['wrk_2.2', ['incomplete']],
      ['wrk_1.x', ['incomplete']],
      ['', ['incomplete']],
    ] as const) {
      const reader = open(all, from);
      await settle();
      expect(reader.seen, from).toEqual(expected);
    }
    changes.clear();
    const late = open(all, position);
    await settle();
    expect(late.seen).toEqual(['incomplete']);
  });

  it('that are too many are forgotten, and a reader that missed some hears of it', async () => {
    const reading = changes.read('all', all, undefined, new AbortController().signal);
    await reading.next();
    for (let n = 0; n < 5_000; n++) changes.add([view(`b${n}`)]);
    const { value: missed } = (await reading.next()) as { value: ChangePage };
    expect([missed.complete, missed.changes]).toEqual([false, []]);
    changes.add([view('last')]);
    const { value: next } = (await reading.next()) as { value: ChangePage };
    expect(next.changes.map(({ id }) => id)).toEqual(['last']);
    const after = open(all, 'wrk_1.4000');
    await settle();
    // Pages are bounded.
    expect(after.pages.slice(1).map((page) => page.changes.length)).toEqual([200, 200, 200, 200, 200, 1]);
    expect(new Set(after.seen).size).toBe(1 + 1_001);
  });

  it('of a batch that no longer matches are reported, too, so that a reader can drop it', async () => {
    const running = open(createMatcher({ idOf }, { status: 'in_progress' }), undefined, 'running');
    const waits = open(createMatcher({ idOf }, { waiting: 'any', atRisk: false }), undefined, 'waits');
    await settle();
    changes.add(
      [view('a', { status: 'completed' }), view('b', { status: 'in_progress' })],
      new Set(['a', 'b']),
    );
    const waiting = { reason: 'queued', message: '', since: 0 } as const;
    changes.add([view('c', { status: 'in_progress' }, { waiting })], new Set(['c']));
    await settle();
    changes.add([view('b', { status: 'cancelling' }), view('c', { status: 'in_progress', ok: 1 })]);
    changes.add([view('b', { status: 'cancelled' }), view('a', { status: 'completed', ok: 9 })]);
    await settle();
    expect(running.seen).toEqual(['incomplete', 'b 0', 'c 0', 'c 1', 'b 0']);
    expect(waits.seen).toEqual(['incomplete', 'c 0', 'c 1']);
    // A reader may have seen the earlier state of a batch that was there before.
    for (const ok of [1, 2]) {
      changes.add([view('old', { status: 'failed', ok })]);
      await settle();
    }
    expect(running.seen.slice(5)).toEqual(['old 1']);
  });

  it('tell of a deletion once, to all readers of the org and to no other', async () => {
    const filtered = createMatcher({ idOf }, { orgId: 'o', status: 'failed', words: ['night'] });
    const own = open(filtered, undefined, 'own');
    const foreign = open(createMatcher({ idOf }, { orgId: 'p' }), undefined, 'foreign');
    const every = open();
    await settle();
    changes.add([view('a', { orgId: 'o', ok: 1 })]);
    for (let read = 0; read < 2; read++) changes.addRemoved([{ id: 'a', orgId: 'o' }]);
    await settle();
    expect([own.seen, foreign.seen, every.seen]).toEqual([
      ['incomplete', 'a deleted'],
      ['incomplete'],
      ['incomplete', 'a deleted'],
    ]);
  });

  it('match by what never changes of a batch', () => {
    const batch = makeBatch({
      id: 'batch_x',
      orgId: 'o',
      createdAt: 10,
      model: 'alias',
      metadata: '{"a":"Night"}',
    });
    const models = { idOf: (name: string) => (name === 'alias' ? 'm1' : name) };
    const matchesAll = (filters: StreamFilters) => createMatcher(models, filters).batch(batch);
    expect(
      matchesAll({ orgId: 'o', createdAfter: 10, createdBefore: 11, model: 'm1', words: ['night', '_x'] }),
    ).toBe(true);
    for (const filters of [
      { orgId: 'p' },
      { createdAfter: 11 },
      { createdBefore: 10 },
      { model: 'm2' },
      { words: ['night', 'day'] },
    ])
      expect(matchesAll(filters), JSON.stringify(filters)).toBe(false);
  });

  it('end for all readers when the engine stops', async () => {
    const reader = open();
    await settle();
    changes.stop();
    await reader.ended;
    const late = open();
    await late.ended;
    expect([reader.seen, late.seen]).toEqual([
      ['incomplete', 'shutting_down'],
      ['incomplete', 'shutting_down'],
    ]);
  });
});

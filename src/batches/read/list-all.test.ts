import { beforeEach, describe, expect, it } from 'vitest';
import { makeBatch } from '../../../test/store/fixtures.ts';
import type { Batch } from '../../core/batch.ts';
import { createCatalog } from '../../core/model.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { AllBatchesQuery } from '../../store/contract/batches.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import { createScanGate } from '../../store/scan-gate.ts';
import { listAll, type ListAllDeps } from './list-all.ts';
import type { BatchFilters } from './match.ts';

const price = { input: 0, cachedInput: 0, output: 0 };
const model = { id: 'm1', aliases: ['alias'], serves: ['chat' as const], prices: price, createdAt: 0 };
const now = 1_000_000;
const never = new AbortController().signal;

let rows: Batch[];
/** Groups and sizes that the store was asked for. */
let asked: [AllBatchesQuery['of'], number][];
/** Batches with lines in flight: they wait for nothing. */
let inFlight: Set<string>;
let viewed: number;
let deps: ListAllDeps;

const add = (n: number, fields: Partial<Batch> = {}) => {
  for (let i = 0; i < n; i++)
    rows.push(
      makeBatch({
        id: `batch_${String(rows.length).padStart(4, '0')}`,
        status: 'in_progress',
        inProgressAt: 0,
        createdAt: 0,
        expiresAt: now * 2,
        prices: { m1: price },
        ...fields,
      }),
    );
};
const queued: Waiting = { reason: 'queued', message: '', since: 0 };

beforeEach(() => {
  [rows, asked, inFlight, viewed] = [[], [], new Set(), 0];
  deps = {
    store: {
      async listAll({ after, of, limit }) {
        asked.push([of, limit]);
        const from = after === undefined ? 0 : rows.findIndex(({ id }) => id === after) + 1;
        return rows.slice(from, from + limit);
      },
      async search({ after, of, limit, words }) {
        asked.push([of, limit]);
        const from = after === undefined ? 0 : rows.findIndex(({ id }) => id === after) + 1;
        // Slices of 100 rows.
        const batches = rows
          .slice(from, from + 100)
          .filter(({ id }) => words.every((word) => id.includes(word)));
        return { batches, next: from + 100 < rows.length ? rows[from + 99]!.id : null };
      },
    },
    scans: createScanGate(),
    models: createCatalog([model]),
    waitSources: {
      storage: () => null,
      budget: (orgId) => (orgId === 'org_poor' ? { ...queued, reason: 'budget' } : null),
      pausing: () => null,
      waiting: () => null,
      room: () => 0,
      hasJustRun: () => false,
    },
    timesOf: () => ({ now, from: now, hours: undefined }),
    async views(batches) {
      viewed += batches.length;
      return batches.map((batch) => {
        const waiting = batch.orgId === 'org_poor' ? ({ ...queued, reason: 'budget' } as const) : queued;
        return { batch, waiting: inFlight.has(batch.id) ? null : waiting } as unknown as BatchView;
      });
    },
  };
});

const list = async (filters: Partial<BatchFilters>) => {
  const page = await listAll(deps, { limit: 20, ...filters }, 'org_a', never);
  return [page.batches.map(({ batch }) => Number(batch.id.slice(6))), page.hasMore] as const;
};

describe('a page of all batches', () => {
  it('without derived filters is one read of its size', async () => {
    add(50);
    const [found, hasMore] = await list({ limit: 5 });
    expect([found, hasMore]).toEqual([[0, 1, 2, 3, 4], true]);
    expect(asked).toEqual([[undefined, 6]]);
    rows = [];
    await list({ orgId: 'org_a', status: 'completed' });
    await list({ status: 'failed' });
    expect(asked.slice(1).map(([of]) => of)).toEqual([
      { orgId: 'org_a', status: 'completed' },
      { status: 'failed' },
    ]);
  });

  it('reads only open batches for a wait or a risk, and only batches of the model for a model', async () => {
    await list({ waiting: 'any', orgId: 'org_a' });
    await list({ atRisk: true, model: 'm1' });
    await list({ model: 'alias', status: 'failed' });
    await list({ model: 'gone' });
    await list({ atRisk: false, orgId: 'org_a' });
    expect(asked.map(([of]) => of)).toEqual([
      { open: true },
      { open: true },
      { models: ['m1', 'alias'] },
      { models: ['gone'] },
      { orgId: 'org_a', status: undefined },
    ]);
  });

  it('continues over slices without a match, and reads the views of few others', async () => {
    add(600);
    add(3, { orgId: 'org_poor' });
    add(600);
    const [found, hasMore] = await list({ waiting: 'budget', limit: 2 });
    expect([found, hasMore]).toEqual([[600, 601], true]);
    expect(viewed).toBe(3);
    expect(await list({ waiting: 'budget' })).toEqual([[600, 601, 602], false]);
  });

  it('leaves out batches whose view shows that they do not wait', async () => {
    add(40);
    for (const { id } of rows.slice(0, 30)) inFlight.add(id);
    expect(await list({ waiting: 'queued', limit: 5 })).toEqual([[30, 31, 32, 33, 34], true]);
    expect(await list({ waiting: 'any', limit: 50 })).toEqual([
      [30, 31, 32, 33, 34, 35, 36, 37, 38, 39],
      false,
    ]);
  });

  it('finds a model among those that a batch names, by any of its names', async () => {
    add(1);
    add(1, { model: 'alias' });
    add(1, { model: null, prices: { m2: price, alias: price } });
    add(1, { model: null, prices: { m2: price, m1: { ...price, isFallback: true } } });
    add(1, { model: 'm2' });
    expect(await list({ model: 'alias' })).toEqual([[0, 1, 2], false]);
    expect(await list({ model: 'm1', orgId: 'org_b' })).toEqual([[], false]);
  });

  it('finds batches at risk by their own rate', async () => {
    add(1, { total: 100, ok: 60 });
    add(1, { total: 100, ok: 40 });
    add(1, { total: 100, ok: 40, status: 'completed' });
    expect(await list({ atRisk: true })).toEqual([[1], false]);
    expect(await list({ atRisk: false })).toEqual([[0, 2], false]);
  });

  it('reads one slice at a time for an org, however many lists it requests (attack 4)', async () => {
    add(1_000, { orgId: 'org_a' });
    const { listAll: read } = deps.store;
    let [running, together] = [0, 0];
    deps.store = {
      ...deps.store,
      async listAll(query) {
        together = Math.max(together, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return read(query);
      },
    };
    const found = await Promise.all([1, 2].map(() => list({ model: 'gone' })));
    expect([found, together]).toEqual([
      [
        [[], false],
        [[], false],
      ],
      1,
    ]);
  });

  it('continues a search over slices without a match, with the other filters', async () => {
    add(250);
    add(250, { orgId: 'org_poor' });
    expect(await list({ words: ['99'], limit: 2 })).toEqual([[99, 199], true]);
    expect(await list({ words: ['99'], after: 'batch_0199' })).toEqual([[299, 399, 499], false]);
    asked = [];
    expect(await list({ words: ['batch_', '49'], waiting: 'budget' })).toEqual([
      [349, 449, ...Array.from({ length: 10 }, (_, n) => 490 + n)],
      false,
    ]);
    expect(asked).toEqual(Array.from({ length: 5 }, () => [{ open: true }, 250]));
    expect(await list({ words: ['none'] })).toEqual([[], false]);
  });

  it('ends when the client has left', async () => {
    add(600);
    const gone = new AbortController();
    const { listAll: read } = deps.store;
    deps.store = {
      ...deps.store,
      listAll(query) {
        if (asked.length === 1) gone.abort(new Error('gone'));
        return read(query);
      },
    };
    await expect(listAll(deps, { limit: 20, waiting: 'paused' }, 'org_a', gone.signal)).rejects.toThrow(
      'gone',
    );
    expect(asked).toHaveLength(2);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { makeFile } from '../../../test/store/fixtures.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { createIds } from '../../base/ids.ts';
import { systemRandom } from '../../base/system.ts';
import type { Batch, Chunk } from '../../core/batch.ts';
import type { StoredFile } from '../../core/file.ts';
import { createCatalog } from '../../core/model.ts';
import { dueAt } from '../../core/urgency.ts';
import type { Caller } from '../../core/org.ts';
import type { Files } from '../../files/files.ts';
import { prefixLevels } from '../../files/input-index.ts';
import type { Store } from '../../store/store.ts';
import type { CreateBatchOutcome } from '../../store/contract/batches.ts';
import { createBatch, type CreateBatchDeps, retryBatch } from './create.ts';

const hour = 3_600_000;
const prices = { input: 1, cachedInput: 1, output: 1 };
const laterPrices = { input: 20, cachedInput: 2, output: 60 };
const caller: Caller = { orgId: 'org_a', keyId: 'key_a', scopes: [], models: null };
const endpoint = '/v1/chat/completions';
const oneHour = { ms: hour, priceFactor: 0.8 };
const twelveHours = { ms: 12 * hour, priceFactor: 0.6 };
const oneDay = { ms: 24 * hour, priceFactor: 0.5 };
const oneWeek = { ms: 168 * hour, priceFactor: 0.4 };

describe('createBatch', () => {
  let file: StoredFile;
  let names: string[];
  let est: number;
  let outcome: CreateBatchOutcome | Error;
  let created: {
    batch: Batch;
    chunks: Chunk[];
    inlineFile: StoredFile | undefined;
    replayOnly: boolean | undefined;
  }[];
  /** Measured rate in tokens per second, and the tokens of other work. */
  let rate: number | null;
  let ahead: number;
  let discarded: number;
  let deps: CreateBatchDeps;
  let billedAt: number;

  beforeEach(() => {
    file = makeFile();
    names = ['m'];
    est = 100;
    outcome = { outcome: 'created' };
    rate = null;
    ahead = 0;
    created = [];
    discarded = 0;
    const index = () => ({
      count: names.length,
      models: names,
      offset: Float64Array.from(names, (_, at) => at * 10),
      length: new Uint32Array(names.length).fill(9),
      model: Uint16Array.from(names.keys()),
      est: new Uint32Array(names.length).fill(est),
      hashes: new Uint32Array(names.length * prefixLevels),
    });
    const files = {
      requireContent: async () => undefined,
      index: async () => index(),
      begin: async () => ({
        write: async () => undefined,
        seal: async () => ({ file, index: index(), discard: async () => void discarded++ }),
        abort: async () => void discarded++,
      }),
    } as unknown as Files;
    const store = {
      files: {
        get: async (orgId: string, id: string) => (orgId === file.orgId && id === file.id ? file : undefined),
      },
      batches: {
        create: async (
          batch: Batch,
          chunks: Chunk[],
          { inlineFile, replayOnly }: Parameters<Store['batches']['create']>[2],
        ) => {
          created.push({ batch, chunks, inlineFile, replayOnly });
          if (outcome instanceof Error) throw outcome;
          return outcome;
        },
      },
    } as unknown as Store;
    billedAt = 1_000_000;
    const clock = createManualClock(1_000_000);
    const model = (id: string) => ({
      id,
      aliases: [`${id}-alias`],
      serves: ['chat' as const],
      prices: { ...prices, changes: [{ ...laterPrices, from: 2_000_000 }] },
      createdAt: 0,
    });
    deps = {
      requireDisk: () => {},
      store,
      files,
      catalog: { ...createCatalog([model('m'), model('n')]), refresh: async () => {} },
      ids: createIds(clock, systemRandom),
      clock,
      billingClock: { now: () => billedAt },
      limits: { openBatchesPerOrg: 10, storedBytes: 1_000_000 },
      batch: { windows: [oneHour, twelveHours, oneDay, oneWeek], resultTtlMs: 30 * 24 * hour },
      forecasting: {
        openWork: async () => ({
          work: [{ model: 'm', orgId: 'org_a', requests: 1, tokens: ahead, due: 0, msLeft: hour }],
          rateOf: () => rate,
        }),
        weights: async () => new Map(),
        waiting: () => null,
        timesOf: () => ({ now: 1_000_000, from: 1_000_000, hours: undefined }),
        idOf: (name) => name,
      },
    };
  });

  const create = (more: object = {}) =>
    createBatch(deps, caller, { endpoint, inputFileId: file.id, ...more }, undefined);
  const created0 = async () => {
    await create();
    return created[0]!.batch;
  };
  const inline = () => createBatch(deps, caller, { endpoint, requests: [Buffer.from('{}')] }, undefined);

  it('begins with everything frozen that may change later', async () => {
    names = ['m', 'm-alias'];
    const { id, replayed } = await create({ metadata: '{"a":"1"}', outputExpiresAfterSeconds: 7_200 });
    expect(replayed).toBe(false);
    expect(created[0]?.batch).toMatchObject({
      id,
      status: 'validating',
      total: 2,
      model: 'm',
      metadata: '{"a":"1"}',
      prices: { m: prices },
      priceFactor: 0.5,
      createdAt: 1_000_000,
      expiresAt: 1_000_000 + 24 * hour,
      acceptUntil: 1_000_000 + 24 * hour + 2_000,
      resultTtlMs: 2 * hour,
    });
    expect(created[0]?.chunks.map((chunk) => chunk.model)).toEqual(['m']);
  });

  it('takes the prices at the time of bills', async () => {
    billedAt = 2_000_000;
    await create();
    expect(created[0]!.batch).toMatchObject({ createdAt: 1_000_000, prices: { m: laterPrices } });
  });

  it('is due by its size, within half the window: small batches first, without starvation', async () => {
    await create();
    est = 4_000_000_000;
    await create();
    expect(created.map(({ batch }) => batch.due - 1_000_000)).toEqual([100, 12 * hour]);
  });

  it('orders the batches of an org by priority first', async () => {
    await create({ priority: 9 });
    await create({ priority: 0 });
    await create();
    expect(created.map(({ batch }) => [batch.priority, batch.due])).toEqual([
      [9, dueAt(1_000_100, 9)],
      [0, dueAt(1_000_100, 0)],
      [5, 1_000_100],
    ]);
  });

  it('takes no priority above that of the key, which also caps the default', async () => {
    const limited = { ...caller, maxPriority: 3 };
    const make = (more: object) =>
      createBatch(deps, limited, { endpoint, inputFileId: file.id, ...more }, undefined);
    await expect(make({ priority: 4 })).rejects.toMatchObject({
      code: 'permission_denied',
      param: 'priority',
      message: 'This key may create batches with a priority of at most 3, not 4.',
    });
    await make({ priority: 3 });
    await make({});
    expect(created.map(({ batch }) => batch.priority)).toEqual([3, 3]);
  });

  it.each([
    [['m', 'n'], { m: prices, n: prices }],
    [['n', 'm'], { m: prices, n: prices }],
    [['m'], { m: prices, n: { ...prices, isFallback: true } }],
    [['n'], { n: prices }],
  ])(
    'freezes a model that requests name as such, also where it stands in for another: %j',
    async (named, frozen) => {
      names = named;
      const model = (id: string, more: object = {}) => ({
        id,
        aliases: [],
        serves: ['chat' as const],
        prices,
        createdAt: 0,
        ...more,
      });
      const catalog = createCatalog([model('m', { fallbacks: ['n'], batchFallbacksAfterMs: 0 }), model('n')]);
      deps = { ...deps, catalog: { ...catalog, refresh: async () => {} } };
      await create();
      expect({ ...created[0]?.batch.prices }).toEqual(frozen);
    },
  );

  it('names its one model, or none when they differ', async () => {
    names = ['m', 'n'];
    await create();
    expect(created[0]?.batch.model).toBeNull();
  });

  it.each([
    ['an unknown file', () => create({ inputFileId: 'file-x' }), 'validation_error', 422],
    [
      'a file of results',
      () => ((file = { ...file, purpose: 'batch_output' }), create()),
      'validation_error',
      422,
    ],
    [
      'another endpoint',
      () => ((file = { ...file, endpoint: '/v1/embeddings' }), create()),
      'url_mismatch',
      422,
    ],
    [
      'a model the key may not use',
      () => createBatch(deps, { ...caller, models: ['n'] }, { endpoint, inputFileId: file.id }, undefined),
      'model_not_allowed',
      403,
    ],
    [
      'a model without a price, because it is no longer served',
      () => ((names = ['m', 'gone']), create()),
      'model_not_found',
      404,
    ],
  ])('refuses %s, and stores nothing', async (_what, attempt, code, status) => {
    await expect(attempt()).rejects.toMatchObject({ code, status });
    expect(created).toEqual([]);
  });

  it.each([
    ['mismatch', 'idempotency_mismatch', 422],
    ['input_missing', 'validation_error', 422],
  ] as const)('says why the store refused: %s', async (refused, code, status) => {
    outcome = { outcome: refused };
    await expect(inline()).rejects.toMatchObject({ code, status });
    expect(discarded).toBe(1);
  });

  it('gives back the first batch of a repeated create, and removes the second input', async () => {
    outcome = { outcome: 'replayed', id: 'batch_first' };
    expect(await inline()).toEqual({ id: 'batch_first', replayed: true });
    expect(discarded).toBe(1);
  });

  it('keeps the input of a batch whose commit may have happened', async () => {
    outcome = new Error('the connection was lost');
    await expect(inline()).rejects.toThrow('lost');
    expect(discarded).toBe(0);
    const [{ batch, inlineFile }] = created as [(typeof created)[0]];
    expect(inlineFile).toEqual({ ...file, filename: `${batch.id}_input.jsonl` });
  });

  it('has the length and the price of its window', async () => {
    await create({ window: oneHour });
    await create({ window: oneWeek });
    await create();
    expect(
      created.map(({ batch }) => [batch.windowMs, batch.expiresAt - 1_000_000, batch.priceFactor]),
    ).toEqual([
      [hour, hour, 0.8],
      [168 * hour, 168 * hour, 0.4],
      [24 * hour, 24 * hour, 0.5],
    ]);
  });

  it('is refused in a short window that it would miss, with the earliest time and the windows that it would meet', async () => {
    outcome = { outcome: 'not_replayed' };
    rate = 1;
    ahead = 3_600;
    await expect(create({ window: oneHour })).rejects.toMatchObject({
      code: 'window_too_short',
      status: 422,
      param: 'completion_window',
      message:
        'completion_window: the batch would miss the window of 1h: it would be done at 1970-01-01T01:18:20Z at the earliest. Windows that can be met: 12h, 24h, 7d.',
    });
    expect(created.map(({ replayOnly }) => replayOnly)).toEqual([true]);
    ahead = 7 * 24 * 3_600;
    await expect(create({ window: twelveHours })).rejects.toThrow('No window can be met now.');
  });

  it('is accepted in a short window that it meets, or of which nothing is known', async () => {
    rate = 1;
    ahead = 3_500;
    await create({ window: oneHour });
    [rate, ahead] = [null, 1e9];
    await create({ window: oneHour });
    expect(created.map(({ replayOnly }) => replayOnly)).toEqual([undefined, undefined]);
  });

  it.each([[undefined], [oneDay], [oneWeek]])(
    'is never refused for load in a window of a day and more',
    async (window) => {
      [rate, ahead] = [1, 1e9];
      await create({ ...(window && { window }) });
      expect(created.map(({ replayOnly }) => replayOnly)).toEqual([undefined]);
    },
  );

  it('returns the batch of a repeated request, although its window can no longer be met', async () => {
    outcome = { outcome: 'replayed', id: 'batch_first' };
    [rate, ahead] = [1, 1e9];
    expect(await create({ window: oneHour })).toEqual({ id: 'batch_first', replayed: true });
  });

  it.each([
    ['the old one', hour, undefined, oneHour],
    ['the default, where that is not offered any more', 2 * hour, undefined, oneDay],
    ['the default, where the old one is unknown', null, undefined, oneDay],
    ['the named one', hour, oneWeek, oneWeek],
    ['the default, where it is named', hour, null, oneDay],
  ])('of failed lines has the window of %s', async (_what, windowMs, window, expected) => {
    const of = { ...(await created0()), windowMs };
    const lines = (async function* () {})();
    await retryBatch(deps, caller, { of, lines, ...(window !== undefined && { window }) }, undefined);
    expect(created.at(-1)!.batch).toMatchObject({
      retryOf: of.id,
      windowMs: expected.ms,
      priceFactor: expected.priceFactor,
    });
  });

  it('removes an inline input that names another endpoint', async () => {
    file = { ...file, endpoint: '/v1/embeddings' };
    await expect(inline()).rejects.toMatchObject({ code: 'url_mismatch' });
    expect(discarded).toBe(1);
  });
});

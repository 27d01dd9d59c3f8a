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
import { createBatch, type CreateDeps } from './create.ts';

const hour = 3_600_000;
const prices = { input: 1, cachedInput: 1, output: 1 };
const laterPrices = { input: 20, cachedInput: 2, output: 60 };
const caller: Caller = { orgId: 'org_a', keyId: 'key_a', scopes: [], models: null };
const endpoint = '/v1/chat/completions';

describe('createBatch', () => {
  let file: StoredFile;
  let names: string[];
  let est: number;
  let outcome: CreateBatchOutcome | Error;
  let created: { batch: Batch; chunks: Chunk[]; inlineFile: StoredFile | undefined }[];
  let discarded: number;
  let deps: CreateDeps;
  let billedAt: number;

  beforeEach(() => {
    file = makeFile();
    names = ['m'];
    est = 100;
    outcome = { outcome: 'created' };
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
        create: async (batch: Batch, chunks: Chunk[], options: { inlineFile?: StoredFile }) => {
          created.push({ batch, chunks, inlineFile: options.inlineFile });
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
      batch: { priceFactor: 0.5, resultTtlMs: 30 * 24 * hour, completionWindowMs: 24 * hour },
    };
  });

  const create = (more: object = {}) =>
    createBatch(deps, caller, { endpoint, inputFileId: file.id, ...more }, undefined);
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

  it('removes an inline input that names another endpoint', async () => {
    file = { ...file, endpoint: '/v1/embeddings' };
    await expect(inline()).rejects.toMatchObject({ code: 'url_mismatch' });
    expect(discarded).toBe(1);
  });
});

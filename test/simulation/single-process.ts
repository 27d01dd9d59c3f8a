import { soleDuties } from '../../src/core/duties.ts';
import type { Accounts } from '../../src/accounts/accounts.ts';
import { BillingClock } from '../../src/accounts/billing-clock.ts';
import { createBudgets } from '../../src/accounts/budgets.ts';
import { createDisabledOrgs } from '../../src/accounts/disabled-orgs.ts';
import { StoreTime } from '../../src/base/store-time.ts';
import { createTestPool } from '../support/test-pool.ts';
import { createIds } from '../../src/base/ids.ts';
import { silent } from '../../src/base/log.ts';
import { defaultLimits } from '../../src/core/batch.ts';
import type { Batch } from '../../src/core/batch.ts';
import type { Hours } from '../../src/core/hours.ts';
import type { Batches } from '../../src/batches/batches.ts';
import { createBatches } from '../../src/batches/create-batches.ts';
import type { BatchesDeps } from '../../src/batches/batch-context.ts';
import type { Engine } from '../../src/engines/engines.ts';
import { createDirectedEngine } from '../support/scripted/directed-engine.ts';
import type { Files } from '../../src/files/files.ts';
import { createVerifiedReads } from '../../src/files/verified-bytes.ts';
import type { ApiError } from '../../src/core/errors.ts';
import { createInference } from '../../src/inference/create-inference.ts';
import type { InteractiveCall } from '../../src/inference/inference.ts';
import { createControls } from '../../src/operator/controls.ts';
import { builtBody } from '../../src/wire/json/json-body.ts';
import { createInlineSchemas } from '../support/inline-schemas.ts';
import { createMemoryBlobs } from '../support/memory-blobs.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { createVirtualTime, type ProcessTime } from '../support/virtual-clock.ts';
import type { Database } from './database.ts';
import { prices } from './engines.ts';
import type { Gateway } from './gateway.ts';
import { makeInput } from './input.ts';
import type { LinePlan } from './plan.ts';
import { type Operation, storeThrough } from './store-view.ts';
import { createScanGate } from '../../src/store/scan-gate.ts';

export interface SingleOptions {
  slots?: number;
  windowMs?: number;
  drainMs?: number;
  /** Number of processes that share the database and the engine; default 1. */
  processes?: number;
  /** Hours of the model. */
  hours?: Hours;
  /** Bytes of each line including its files. */
  filledBytes?: number;
  /** Estimated tokens of each answer. */
  maxTokens?: number;
  /** Aliases of the model. */
  aliases?: string[];
  /** Router in front of the engine. */
  gateway?: Gateway;
  /** As with the embedded database, whose time is that of this process. */
  exclusive?: boolean;
}

export const owner = { orgId: 'org_1', keyId: 'key_1', scopes: [], models: null };

/** Starts one or more identical processes in virtual time. A test sees every store call and can make it fail. */
export async function startSingle(database: Database, options: SingleOptions = {}) {
  const { slots = 4, windowMs = 86_400_000, drainMs = 5_000, aliases = [], exclusive = false } = options;
  const { processes = 1 } = options;
  const random = createSeededRandom(1);
  const time = createVirtualTime(random);
  const clock = time.process();
  const clocks = [clock, ...Array.from({ length: processes - 1 }, () => time.process())];
  await database.reset(clock);
  const blobs = createMemoryBlobs();
  const inputs = new Map<string, ReturnType<typeof makeInput>>();
  const calls: Operation[] = [];
  const blobCalls: string[] = [];
  /**
   * Error of every engine call, and of probes unless `isHidden`, for the processes `of` or for all; `met` counts the failed
   * calls.
   */
  const outage: { error: Error | null; of: number[] | null; isHidden: boolean; met: number } = {
    error: null,
    of: null,
    isHidden: false,
    met: 0,
  };
  /** Names of operations that fail; `*` means all. */
  const failing = new Set<Operation>();
  /** Operations that hang until they are removed from the set. */
  const hanging = new Set<Operation>();
  /** Operations that run at once but answer only after they are removed from the set. */
  const late = new Set<Operation>();
  /** Errors of blob reads and writes by blob name; `*` means all, `files` the files that lines refer to. */
  const unreadable = new Map<string, Error>();
  const unwritable = new Map<string, Error>();

  const store = storeThrough(database.store, async (name, _args, operate) => {
    calls.push(name);
    // Every call takes a moment of virtual time, so that no loop can run forever at one instant.
    await new Promise<void>((resolve) => time.after(1, resolve));
    while (hanging.has(name) || hanging.has('*'))
      await new Promise<void>((resolve) => time.after(10, resolve));
    if (failing.has(name) || failing.has('*')) throw new Error('the database is away');
    const answer = await operate();
    while (late.has(name)) await new Promise<void>((resolve) => time.after(10, resolve));
    return answer;
  });
  const ids = createIds(clock, random);
  const model = { id: 'm1', aliases, serves: ['chat' as const], prices, createdAt: 0, hours: options.hours };
  const engine = createDirectedEngine({ clock, slots });
  const through = <T>(work: () => Promise<T>) => options.gateway?.pass(time, work) ?? work();
  const reach = async (from: number) => {
    if (outage.error && (outage.of?.includes(from) ?? true)) throw outage.error;
  };
  const engineFrom = (from: number): Engine => ({
    ...engine,
    async generate(request, call) {
      await reach(from).catch((error: unknown) => {
        outage.met++;
        throw error;
      });
      return through(() => engine.generate(request, call));
    },
    probe: () => (outage.isHidden ? engine.probe() : reach(from).then(() => engine.probe())),
    tryOut: () => through(() => reach(from)),
  });
  /** A dead process gets no answers. */
  const alive = <T>(own: ProcessTime, answer: T): T | Promise<never> =>
    own.alive ? answer : new Promise(() => {});
  const spending = createBudgets({ orgs: store.orgs, clock, billingClock: clock, log: silent });
  const disabledOrgs = createDisabledOrgs({ orgs: store.orgs, clock, log: silent });
  const budgets: Accounts['budgets'] = {
    ...spending,
    waiting: (orgId, keyId) => disabledOrgs.waiting(orgId) ?? spending.waiting(orgId, keyId),
  };
  const controls = createControls({ store: database.store, clock, log: silent });
  const pools = clocks.map((own, n) => {
    const there = engineFrom(n);
    return createTestPool(
      { ...there, generate: async (request, call) => alive(own, await there.generate(request, call)) },
      { clock: own, random, isShared: processes > 1 },
    );
  });
  const services = pools.map((pool, n) =>
    createInference({
      models: [{ model, pool }],
      accounts: { charge: () => {}, budgets, billingClock: clocks[n]! },
      schemas: createInlineSchemas(clocks[n]!),
      clock: clocks[n]!,
      ids,
      log: silent,
    }),
  );
  const parts: Omit<
    BatchesDeps,
    'inference' | 'capacity' | 'catalog' | 'peers' | 'clock' | 'time' | 'billingClock' | 'store'
  > = {
    process: { version: '1.2.3', host: 'simulated', pid: 1 },
    scans: createScanGate(),
    budgets,
    controls,
    blobs: blobs.gatedBy(async (operation, name) => {
      blobCalls.push(operation);
      const faults = /^(read|slices?|size)$/.test(operation) ? unreadable : unwritable;
      // The size of an unreadable file is still known.
      const fault = (operation === 'size' ? undefined : faults.get(name)) ?? faults.get('*');
      if (fault && /^(read|slices?|size|create|write|commit)$/.test(operation)) throw fault;
    }),
    files: {
      requireContent: async () => {},
      index: async (file) => inputs.get(file.id)!.index,
      read: createVerifiedReads(blobs),
      purposes: ['batch', 'user_data'],
      async inline(_orgId, text, _mostBytes, hold) {
        if (options.filledBytes !== undefined) await hold(options.filledBytes);
        if (unreadable.has('files')) throw unreadable.get('files')!;
        return text;
      },
    } as Partial<Files> as Files,
    ids,
    random,
    log: silent,
    requireDisk: () => {},
    limits: { openBatchesPerOrg: 10_000, storedBytes: Infinity, lineBytes: defaultLimits.lineBytes },
    batch: {
      resultTtlMs: 86_400_000,
      windows: [{ ms: windowMs, priceFactor: 0.5 }],
      cancelGraceMs: 500,
      lostModelAfterMs: 20_000,
    },
    drainMs,
    exclusive,
  };
  const all = services.map(({ inference, capacity, catalog, peers }, n) => {
    const own = clocks[n]!;
    const ownTime = new StoreTime(own);
    const seen = storeThrough(store, async (_name, _args, operate) => alive(own, await operate()));
    return createBatches({
      ...parts,
      inference,
      capacity,
      catalog,
      peers,
      store: seen,
      duties: { ...soleDuties(), isHolder: () => n === 0 },
      clock: own,
      time: ownTime,
      billingClock: new BillingClock(ownTime, silent),
    });
  });
  const [batches] = all as [Batches, ...Batches[]];

  /** Runs until `promise` settles; fails after `withinMs` of virtual time. */
  async function settle<T>(promise: Promise<T>, withinMs = 600_000): Promise<T> {
    let settled = false;
    const mark = () => (settled = true);
    promise.then(mark, mark);
    if (!(await time.run(time.elapsed + withinMs, () => settled)))
      throw new Error(`not settled within ${withinMs} ms`);
    return promise;
  }

  return {
    time,
    blobs,
    /** Readers of the budgets and of the disabled orgs; a test that needs them starts them. */
    orgStates: [spending, disabledOrgs],
    /** Pauses by an operator, which all processes see at once; a test that needs them starts them. */
    controls,
    batches,
    all,
    calls,
    blobCalls,
    outage,
    failing,
    /** Moves the wall clock, which the database uses too. */
    jump: (ms: number) => clock.jump(ms),
    hanging,
    late,
    unreadable,
    unwritable,
    settle,
    /** Replaces the ID and the aliases of the model. */
    rename: (id: string, ...others: string[]) =>
      settle(services[0]!.replaceModels([{ model: { ...model, id, aliases: others }, pool: pools[0]! }])),
    /** Kills a process; its requests in flight continue at the engine. */
    kill: (process: number) => clocks[process]!.kill(),
    /** Engine calls in progress, waiting, and sent in total. */
    running: () => engine.stats().running,
    waiting: () => engine.stats().waiting,
    sent: () => engine.stats().calls,
    /** Runs for `ms`. */
    pass: (ms: number) => time.run(time.elapsed + ms),

    async create(
      name: string,
      lines: number,
      line: Partial<LinePlan> = {},
      orgId = owner.orgId,
    ): Promise<string> {
      const each: LinePlan = { kind: 'plain', model: 'm1', system: null, delayMs: 100, ...line };
      const input = makeInput(
        {
          name,
          orgId,
          endpoint: '/v1/chat/completions',
          lines: Array.from({ length: lines }, () => each),
          createAt: 0,
          cancelAt: null,
          maxTokens: options.maxTokens,
        },
        clock.now(),
      );
      inputs.set(input.file.id, input);
      blobs.put(input.file.blobId, input.bytes);
      await database.store.files.insert(input.file, undefined, clock.now());
      const created = batches.create(
        { ...owner, orgId },
        { endpoint: '/v1/chat/completions', inputFileId: input.file.id },
        undefined,
      );
      return (await settle(created)).batch.batch.id;
    },

    /** Sends a chat of another client; resolves to its text or its error code. */
    chat(content: string): Promise<string> {
      const value = { model: 'm1', messages: [{ role: 'user' as const, content }] };
      const call = {
        caller: { ...owner, orgId: 'org_other' },
        requestId: 'req',
        signal: new AbortController().signal,
      };
      return services[0]!.inference.chat(builtBody(value), call as unknown as InteractiveCall).then(
        ({ choices }) => choices[0]!.message.content ?? '',
        (error: ApiError) => error.code,
      );
    },

    cancel: (id: string) => settle(batches.cancel(owner, id)),

    see: (id: string, process = 0) => settle(all[process]!.get(owner, id)),

    async find(id: string): Promise<Batch> {
      return (await database.store.batches.find(id))!;
    },
  };
}

import { serverActor } from '../../../src/core/audit.ts';
import { StoreTime } from '../../../src/base/store-time.ts';
import { createTestPool } from '../../support/test-pool.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccounts } from '../../../src/accounts/create-accounts.ts';
import type { Accounts } from '../../../src/accounts/accounts.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { BatchLimits } from '../../../src/batches/batch-context.ts';
import type { BatchWindows } from '../../../src/core/batch-window.ts';
import { createBatches } from '../../../src/batches/create-batches.ts';
import { createDiskBlobs } from '../../../src/blobs/disk/disk.ts';
import { createIds } from '../../../src/base/ids.ts';
import type { Log } from '../../../src/base/log.ts';
import { systemClock, systemRandom } from '../../../src/base/system.ts';
import { batchEndpoints, defaultLimits } from '../../../src/core/batch.ts';
import type { CallerLimits } from '../../../src/core/limits.ts';
import type { Model } from '../../../src/core/model.ts';
import type { Engine } from '../../../src/engines/engines.ts';
import { createDirectedEngine, type DirectedEngine } from '../../support/scripted/directed-engine.ts';
import { createEgress } from '../../../src/events/egress.ts';
import type { HostLookup } from '../../../src/events/host-lookup.ts';
import { createWebhooks } from '../../../src/events/create-webhooks.ts';
import { createFiles } from '../../../src/files/create-files.ts';
import type { UserFiles } from '../../../src/files/upload.ts';
import { createInference } from '../../../src/inference/create-inference.ts';
import type { Capacity } from '../../../src/inference/capacity.ts';
import { withLimits } from '../../../src/inference/with-limits.ts';
import { createRequestLimiter } from '../../../src/limits/create-limiter.ts';
import { createLimitReport } from '../../../src/limits/limit-report.ts';
import { createLocalSubjects } from '../../../src/limits/subjects.ts';
import type { Peers } from '../../../src/inference/peers.ts';
import { createSchemaRefusal, createSchemas } from '../../../src/inference/schemas/schemas.ts';
import { createControls } from '../../../src/operator/controls.ts';
import { finishAnswer } from '../../../src/responses/finish-answer.ts';
import { createResponses } from '../../../src/responses/create-responses.ts';
import { createServer, type Server, type ServerDeps } from '../../../src/server/server.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { type SurfaceOptions, testSurfaces } from '../../support/surfaces.ts';
import type { Store } from '../../../src/store/store.ts';
import { createScanGate } from '../../../src/store/scan-gate.ts';

export interface RunningServer {
  url: string;
  server: Server;
  store: Store;
  accounts: Accounts;
  engine: DirectedEngine;
  capacity: Capacity;
  peers: Peers;
  /** Folder of the blobs. */
  folder: string;
  clock: Clock;
  /** Keys of two orgs, and one with only the scope `admin`. */
  keys: { a: string; b: string; admin: string };
  logged: { level: string; fields: Record<string, unknown>; message: string }[];
  call(method: string, path: string, options?: CallOptions): Promise<CallResult>;
  stop(): Promise<void>;
}

export interface CallOptions {
  /** Key to send: that of org a if absent, no key if null. */
  key?: string | null;
  json?: unknown;
  body?: NonNullable<RequestInit['body']>;
  headers?: Record<string, string>;
}

export interface CallResult {
  status: number;
  headers: Headers;
  text: string;
  json: Json;
}

/** Parsed body. A test that expects another shape fails. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

const prices = { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 };

export const testModels: Model[] = [
  {
    id: 'tiny',
    aliases: ['default'],
    serves: ['chat', 'embeddings', 'completions'],
    prices,
    createdAt: 1_700_000_000_000,
  },
  { id: 'org/model:tag', aliases: [], serves: ['chat'], prices, createdAt: 1_700_000_000_000 },
  { id: 'vectors', aliases: [], serves: ['embeddings'], prices, createdAt: 1_700_000_000_000 },
];

/** Small enough for tests to reach. */
export const testLimits = {
  bodyBytes: 1_000_000,
  bytesPerBatch: 2_000_000,
  requestsPerBatch: 100,
  conversationBytes: 1_000_000,
  responseBytesPerOrg: 100_000_000,
  storedBytes: 1_000_000_000,
  storedResponses: 10_000,
  bodyBytesInFlight: 20_000_000,
  connections: 1_000,
  connectionsPerAddress: 500,
  anonymousPerSecond: 1_000_000,
};

interface StartOptions extends Omit<SurfaceOptions, 'limits'> {
  limits?: Partial<typeof testLimits>;
  /** `testModels` if absent. */
  models?: readonly Model[];
  clock?: Clock;
  /** Files for purposes other than batches. */
  userFiles?: UserFiles;
  /** Wraps the scripted engine; absent: the scripted engine serves the models. */
  engine?: (scripted: DirectedEngine) => Engine;
  lookupHost?: HostLookup;
  requireDisk?: () => void;
  /** Limits of orgs and keys without limits of their own; none if absent. */
  requestLimits?: Partial<CallerLimits>;
  /** Completion windows of batches; 24 hours at half price if absent. */
  windows?: BatchWindows;
  /** Limits on batches of orgs and keys without limits of their own; only 1,000 open batches if absent. */
  queueLimits?: Partial<BatchLimits>;
}

/** Starts a whole service on a real port: real accounts, files, batches and inference over a scripted engine. */
export async function startServer(
  options: Partial<
    Pick<
      ServerDeps,
      | 'ready'
      | 'role'
      | 'drainDelayMs'
      | 'drainMs'
      | 'inference'
      | 'trustedProxies'
      | 'onAnswered'
      | 'strictFields'
    >
  > &
    StartOptions = {},
): Promise<RunningServer> {
  const { clock = systemClock, engine: around = (scripted) => scripted, ...given } = options;
  const {
    lookupHost,
    requireDisk = () => {},
    requestLimits,
    queueLimits,
    windows = [{ ms: 86_400_000, priceFactor: 0.5 }],
    dates,
    console,
    ...overrides
  } = given;
  const logged: RunningServer['logged'] = [];
  const log = recordingLog(logged);
  const ids = createIds(clock, systemRandom);
  const store = createMemoryStore({ clock });
  const accounts = createAccounts({
    scans: createScanGate(),
    store,
    clock,
    random: systemRandom,
    ids,
    log,
    config: {},
  });
  const engine = createDirectedEngine({ clock });
  const schemas = createSchemas({ clock, log });
  const served = around(engine);
  const service = createInference({
    models: (options.models ?? testModels).map((model) => ({
      model,
      pool: createTestPool(served, { clock }),
    })),
    accounts,
    schemas,
    clock,
    ids,
    log,
  });
  const { capacity, catalog, peers } = service;
  const limiter = createRequestLimiter({
    clock,
    defaults: { org: {}, key: {}, ...requestLimits },
    subjects: createLocalSubjects(clock),
  });
  const limitReport = createLimitReport({
    store,
    limiter,
    defaults: {
      org: {
        openBatches: 1000,
        storedBytes: testLimits.storedBytes,
        storedResponses: testLimits.storedResponses,
        ...requestLimits?.org,
        ...queueLimits?.perOrg,
      },
      key: { ...requestLimits?.key, ...queueLimits?.perKey },
    },
    responseBytesPerOrg: testLimits.responseBytesPerOrg,
    idOf: peers.idOf,
    clock,
  });
  const inference = withLimits(service.inference, limiter, catalog);
  const folder = await mkdtemp(join(tmpdir(), 'offpeak-server-'));
  const blobs = createDiskBlobs({ folder, log });
  const limits = { ...testLimits, ...options.limits };
  const surfaces = testSurfaces({
    limits,
    ...(dates && { dates }),
    ...(console !== undefined && { console }),
  });
  const files = createFiles({
    scans: createScanGate(),
    requireDisk,
    store,
    blobs,
    catalog: peers,
    clock,
    ids,
    log,
    rules: surfaces[0].rules,
    lineBytes: 500_000,
    storedBytesPerOrg: limits.storedBytes,
    ...(options.userFiles && { userFiles: options.userFiles }),
    quarantineMs: 604_800_000,
    diskClock: clock,
    checkSchema: createSchemaRefusal(schemas),
    isStrict: options.strictFields === true,
  });
  const controls = createControls({ store, clock, log });
  controls.onChange(() => service.drain(new Set(controls.drains.map(({ id }) => id))));
  const batches = createBatches({
    scans: createScanGate(),
    requireDisk,
    store,
    blobs,
    files,
    inference: service.inference,
    capacity,
    catalog,
    peers,
    budgets: accounts.budgets,
    controls,
    clock,
    time: new StoreTime(clock),
    billingClock: accounts.billingClock,
    ids,
    log,
    random: systemRandom,
    limits: {
      openBatchesPerOrg: 1000,
      storedBytes: limits.storedBytes,
      lineBytes: defaultLimits.lineBytes,
      ...queueLimits,
    },
    batch: {
      endpoints: batchEndpoints,
      resultTtlMs: 2_592_000_000,
      windows,
      cancelGraceMs: 100,
      lostModelAfterMs: 0,
    },
    drainMs: 1000,
    process: { version: '1.2.3', host: 'machine-1', pid: 7 },
    finishAnswer,
    exclusive: true,
  });
  const responses = createResponses({
    scans: createScanGate(),
    requireDisk,
    store,
    inference,
    requests: batches.requests,
    backgroundTimeoutMs: 86_400_000,
    catalog,
    budgets: accounts.budgets,
    clock,
    ids,
    log,
    limits,
    exclusive: true,
  });
  const webhooks = createWebhooks({
    store,
    egress: createEgress({ allow: ['127.0.0.0/8'], ...(lookupHost && { resolve: lookupHost }) }),
    clock,
    random: systemRandom,
    ids,
    log,
    exclusive: true,
    secretsKeys: { current: undefined, accepted: [] },
  });
  const server = createServer({
    files,
    batches,
    webhooks,
    inference,
    capacity,
    catalog,
    peers,
    responses,
    accounts,
    controls,
    limitReport,
    clock,
    ids,
    log,
    ready: async () => ({ ok: true }),
    version: '1.2.3',
    surfaces,
    strictFields: false,
    ...overrides,
    limits,
  });
  const services = [store, blobs, controls, accounts, service, files, responses, webhooks, batches, server];
  for (const each of services) await each.start();
  await accounts.makeFirstKeys();
  const second = await accounts.orgs.create(serverActor, { name: 'second' });
  const keys = {
    a: accounts.firstKeys?.key ?? '',
    b: (await accounts.keys.create(serverActor, { orgId: second.id })).key,
    admin: accounts.firstKeys?.adminKey ?? '',
  };

  return {
    url: server.url,
    server,
    store,
    accounts,
    engine,
    capacity,
    peers,
    folder,
    clock,
    keys,
    logged,
    call: (method, path, how = {}) => call(`${server.url}${path}`, method, { key: keys.a, ...how }),
    async stop() {
      for (const each of services.toReversed()) await each.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function call(
  url: string,
  method: string,
  { key, json, body, headers }: CallOptions,
): Promise<CallResult> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined ? { body: JSON.stringify(json) } : body !== undefined && { body, duplex: 'half' }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json;') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

function recordingLog(logged: RunningServer['logged'], inherited: object = {}): Log {
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields: { ...inherited, ...fields }, message });
  return {
    isLevelEnabled: () => true,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recordingLog(logged, { ...inherited, ...fields }),
  };
}

import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import querystring from 'node:querystring';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { createAccounts } from './accounts/create-accounts.ts';
import type { Accounts } from './accounts/accounts.ts';
import type { Clock } from './base/clock.ts';
import { createIds, type Ids } from './base/ids.ts';
import { keyRemover } from './base/key-shapes.ts';
import { formatProblem } from './base/located.ts';
import type { Log } from './base/log.ts';
import type { Random } from './base/random.ts';
import type { Service } from './base/service.ts';
import { systemClock, systemRandom } from './base/system.ts';
import { createBatches } from './batches/create-batches.ts';
import { createDiskBlobs } from './blobs/disk.ts';
import { ConfigError } from './config.ts';
import type { Config, ModelConfig, OpenAiEngineConfig, ReplicaConfig } from './core/config.ts';
import type { Examination } from './core/examination.ts';
import type { Model } from './core/model.ts';
import { readModelSource } from './core/model-source.ts';
import type { ModelSource, RemoteSource } from './core/model-source.ts';
import type { Engine, Pool, ReplicaState } from './engines/engines.ts';
import type { Spawn } from './engines/llama/child-process.ts';
import { createLlamaEngine } from './engines/llama/engine.ts';
import { createModelFiles } from './engines/llama/files/model-files.ts';
import type { ModelFiles } from './engines/llama/files/model-files.ts';
import { createStartPulls } from './engines/llama/files/start-pulls.ts';
import { createPool } from './engines/pool/pool.ts';
import type { ReplicaOptions } from './engines/pool/replica.ts';
import { createScriptedEngine } from './engines/scripted/scripted.ts';
import { examineUpstream } from './engines/upstream/examine.ts';
import { createUpstreamEngine } from './engines/upstream/upstream.ts';
import type { UpstreamOptions } from './engines/upstream/upstream.ts';
import { createFiles } from './files/create-files.ts';
import { createInstallation } from './files/installation.ts';
import { closeToOthers } from './files/private-folder.ts';
import { createGenerate } from './generate/create-generate.ts';
import { withFallbacks } from './generate/fallbacks.ts';
import type { ServedModel } from './generate/generate.ts';
import { createSchemas } from './generate/schemas.ts';
import { createResponses } from './responses/create-responses.ts';
import { createServer } from './server/server.ts';
import { createPostgresStore } from './store/postgres/postgres.ts';
import { createSqliteStore } from './store/sqlite/sqlite.ts';
import type { Store } from './store/store.ts';

/** A whole Offpeak in this process. */
export interface App extends Service {
  /** Where it listens, once started. */
  readonly url: string;
  readonly models: readonly Model[];
  readonly dataFolder: string;
  /**
   * Serves the models of the configuration that `read` gives from now on: what runs ends where it began, servers that are
   * as before keep what was learned of them. One that cannot be used is logged and changes nothing.
   */
  reload(read: () => Config): Promise<void>;
  /** Asks every server how it is, and tells which of them take no requests. */
  serversAway(): Promise<ServerAway[]>;
  /** Keys made by the very first start, to be shown once. */
  readonly firstKeys: Accounts['firstKeys'];
}

export interface ServerAway {
  model: string;
  server: string;
  /** How many the model has. */
  servers: number;
  message: string;
}

/** What may be put in place of the machine's own, for tests and benchmarks. */
export interface Overrides {
  clock?: Clock;
  random?: Random;
  log?: Log;
  /** How processes of the embedded engine are started. */
  spawn?: Spawn;
}

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Builds and wires everything; the only file that names implementations.
 *
 * `start` brings the parts up from the store to the door and rejects with a sentence for the operator (and a `hint` where
 * there is one) when the data folder, a model or the port cannot be had; what had started is stopped again. `stop` drains
 * (cli-and-config.md): the door closes and nothing is claimed, work in flight has `drainMs`, then it is given back.
 */
export function createApp(config: Config, overrides: Overrides = {}): App {
  const { clock = systemClock, random = systemRandom } = overrides;
  const { log, hide } = overrides.log
    ? { log: overrides.log, hide: () => {} }
    : createLog(config.logLevel, secretsOf(config));
  const ids = createIds(clock, random);
  const shared = { clock, random, ids, log };
  const embedded = config.database === 'sqlite';

  const store: Store = embedded
    ? createSqliteStore({ path: join(config.data, 'offpeak.db'), clock, log })
    : createPostgresStore({ url: config.database, log });
  const blobFolder = join(config.data, 'blobs');
  const blobs = createDiskBlobs({ folder: blobFolder, log });
  const installation = createInstallation({ ...shared, store, blobs, folder: blobFolder });
  const accounts = createAccounts({ ...shared, store, config: givenKeys(config) });
  const modelFiles = openModelFiles(config, { clock, random });
  const pulls = createStartPulls(modelFiles, modelSources(config).filter(isRemote), log);
  let served = serve(config, []);
  const generate = createGenerate({ ...shared, models: served, accounts, schemas: createSchemas(shared) });
  const { catalog } = generate;
  const single = withFallbacks(generate);
  const { limits, drainMs } = config;
  const files = createFiles({
    ...shared,
    store,
    blobs,
    catalog,
    limits: {
      fileBytes: limits.bytesPerBatch,
      lines: limits.requestsPerBatch,
      lineBytes: limits.lineBytes,
    },
    quarantineMs: config.quarantineMs,
  });
  const batches = createBatches({
    ...shared,
    store,
    blobs,
    files,
    generate,
    limits,
    drainMs,
    batch: config.batch,
    exclusive: embedded,
  });
  const responses = createResponses({ ...shared, store, generate: single, limits, exclusive: embedded });
  const ready = async () => {
    try {
      await Promise.all([store.ping(), blobs.ping()]);
      return { ok: true };
    } catch (error) {
      log.error({ err: error }, 'not ready');
      return { ok: false, reason: 'storage' };
    }
  };
  const server = createServer({
    ...shared,
    files,
    batches,
    generate: single,
    responses,
    accounts,
    catalog,
    ready,
    limits,
    drainMs,
    ...config.server,
    version: manifest.version,
  });

  // In the order in which they need one another; stopped in the opposite one. The first keys are made when the models
  // are there: a start that fails for a model's sake has shown them to nobody.
  const parts: Service[] = [
    store,
    blobs,
    installation,
    pulls,
    generate,
    accounts,
    files,
    responses,
    batches,
    server,
  ];
  let stopping: Promise<void> | null = null;
  let reloading: Promise<void> = Promise.resolve();

  async function stopAll(): Promise<void> {
    // The door and the run loop drain at the same time: one drain time for both.
    await Promise.all([server.stop(), batches.stop()]);
    for (const part of parts.slice(0, -2).toReversed()) await part.stop();
  }

  /** The models of a configuration; those whose engine is as before keep it. */
  function serve({ models }: Config, before: readonly Served[]): Served[] {
    return models.map((asked) => {
      const known = before.find(({ config: { id } }) => id === asked.id);
      const pool =
        known && isSameEngine(known.config, asked) ? known.pool : poolOf(asked, known?.pool.replicas);
      const createdAt = known?.model.createdAt ?? clock.now();
      return { config: asked, pool, model: publicModel(asked, pool, createdAt) };
    });
  }

  function poolOf(model: ModelConfig, before: readonly ReplicaState[] = []): Pool {
    const made = { ...shared, log: log.child({ model: model.id }), modelFiles, before };
    return createModelPool(model, overrides.spawn ? { ...made, spawn: overrides.spawn } : made);
  }

  async function reload(read: () => Config): Promise<void> {
    const next = read();
    hide(secretsOf(next));
    await createStartPulls(modelFiles, modelSources(next).filter(isRemote), log).start();
    const models = serve(next, served);
    await generate.replaceModels(models);
    const replaced = models.filter(({ pool }) => !served.some((each) => each.pool === pool));
    served = models;
    const idsOf = (of: readonly Served[]) => of.map(({ model }) => model.id);
    log.info({ models: idsOf(models), replaced: idsOf(replaced) }, 'The configuration was read again.');
    const waiting = unreadKeys.filter((key) => !isDeepStrictEqual(next[key], config[key]));
    if (waiting.length > 0) log.warn({ keys: waiting }, 'What these keys say is taken at the next start.');
  }

  return {
    get url() {
      return server.url;
    },
    get firstKeys() {
      return accounts.firstKeys;
    },
    get models() {
      return catalog.list();
    },
    dataFolder: config.data,

    async serversAway() {
      await Promise.all(served.map(({ pool }) => pool.probe()));
      return served.flatMap(({ model: { id }, pool: { replicas } }) =>
        replicas.flatMap(({ name, waiting }) =>
          waiting ? { model: id, server: name, servers: replicas.length, message: waiting.message } : [],
        ),
      );
    },

    reload(read) {
      reloading = reloading
        .then(() => reload(read))
        .catch((error: unknown) => {
          const problems = error instanceof ConfigError ? error.problems.map(formatProblem) : [String(error)];
          log.error({ problems }, 'The configuration is not taken; everything goes on as before.');
        });
      return reloading;
    },

    async start() {
      await mkdir(config.data, { recursive: true, mode: 0o700 });
      try {
        await closeToOthers(config.data, log);
        for (const part of parts) await part.start();
      } catch (error) {
        await stopAll().catch((fault: unknown) => log.error({ err: fault }, 'could not stop cleanly'));
        throw error;
      }
    },

    stop() {
      stopping ??= stopAll();
      return stopping;
    },
  };
}

/** A model that is served, and what it was made of. */
interface Served extends ServedModel {
  config: ModelConfig;
}

function isSameEngine(a: ModelConfig, b: ModelConfig): boolean {
  return isDeepStrictEqual([a.serves, a.engine], [b.serves, b.engine]);
}

/** What a running server does not read again. */
const unreadKeys = [
  'server',
  'data',
  'database',
  'files',
  'modelFolder',
  'hub',
  'limits',
  'batch',
  'quarantineMs',
  'drainMs',
  'logLevel',
  'apiKey',
  'adminKey',
] as const satisfies (keyof Config)[];

/** The GGUF files of this machine, for a server and for the commands that need none. */
export function openModelFiles(
  { modelFolder, hub }: Pick<Config, 'modelFolder' | 'hub'>,
  { clock, random }: { clock: Clock; random: Random },
): ModelFiles {
  return createModelFiles({ folder: modelFolder, hub, clock, random });
}

function modelSources({ models }: Config): ModelSource[] {
  return models.flatMap(({ engine }) => (engine.kind === 'llama' ? modelSource(engine.path) : []));
}

/** What the configuration names was checked when it was read. */
function modelSource(path: string): ModelSource {
  const source = readModelSource(path);
  return source.kind === 'wrong' ? { kind: 'path', path } : source;
}

function isRemote(source: ModelSource): source is RemoteSource {
  return source.kind !== 'path';
}

/**
 * Lines wait for each other for a moment, so that a request does not wait for the disk. Written at the end in any case.
 * Every line passes here on its way out, whoever wrote it, and loses its keys: a client may put one anywhere.
 */
function createLog(level: string, first: readonly string[]): { log: Log; hide: (more: string[]) => void } {
  const destination = pino.destination({ dest: 2, sync: false, minLength: 4096, periodicFlush: 100 });
  const secrets = new Set(first);
  const remover = () => keyRemover([...secrets].map((secret) => JSON.stringify(secret).slice(1, -1)));
  let withoutKeys = remover();
  const log = pino({ level, base: null }, { write: (line) => void destination.write(withoutKeys(line)) });
  const hide = (more: string[]) => {
    for (const secret of more) secrets.add(secret);
    withoutKeys = remover();
  };
  return { log, hide };
}

/** What this server was told that nobody else may learn. */
function secretsOf({ apiKey, adminKey, hub, database, models }: Config): string[] {
  const engines = models.flatMap(({ engine }) =>
    engine.kind === 'openai'
      ? [...engine.replicas.map((replica) => replica.apiKey), ...Object.values(engine.headers ?? {})]
      : [],
  );
  const password = URL.canParse(database) ? new URL(database).password : '';
  const plain = querystring.unescape(password);
  // A shorter one would take more from the log than it keeps from its readers.
  return [apiKey, adminKey, hub.token, password, plain, ...engines].flatMap((secret) =>
    secret && secret.length >= 8 ? secret : [],
  );
}

function givenKeys({ apiKey, adminKey }: Config): { apiKey?: string; adminKey?: string } {
  return { ...(apiKey !== undefined && { apiKey }), ...(adminKey !== undefined && { adminKey }) };
}

/** What engines and pools are made with. */
interface EngineParts {
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Log;
  spawn?: Spawn;
}

function publicModel(
  { id, aliases, serves, prices, fallbacks }: ModelConfig,
  engine: Engine,
  createdAt: number,
): Model {
  return {
    id,
    aliases,
    prices,
    createdAt,
    fallbacks,
    // An engine may know only once it has loaded its model.
    get serves() {
      return serves ?? [...engine.capabilities.serves];
    },
  };
}

function createModelPool(
  { id, serves, engine }: ModelConfig,
  { modelFiles, before, ...parts }: EngineParts & { modelFiles: ModelFiles; before: readonly ReplicaState[] },
): Pool {
  const one = (name: string, only: Engine): ReplicaOptions[] => [
    { name, engine: only, account: name, weight: 1, isDraining: false },
  ];
  switch (engine.kind) {
    case 'llama': {
      const { path, context, ...rest } = engine;
      const modelPath = modelFiles.pathOf(modelSource(path));
      const replicas = one(path, createLlamaEngine({ ...rest, modelPath, contextSize: context, ...parts }));
      return createPool({ ...parts, replicas });
    }
    case 'openai':
      return createPool({ ...parts, replicas: engine.replicas.map((each) => upstreamReplica(engine, each)) });
    case 'scripted': {
      const { slots, delayMs } = engine;
      return createPool({ ...parts, replicas: one(id, createScriptedEngine({ ...parts, slots, delayMs })) });
    }
  }

  function upstreamReplica(upstream: OpenAiEngineConfig, replica: ReplicaConfig): ReplicaOptions {
    const { url, apiKey, weight, drain } = replica;
    const asked = createUpstreamEngine({ ...parts, ...upstreamOptions({ id, serves }, upstream, replica) });
    const { host, pathname } = new URL(url);
    const name = host + pathname;
    const slotsBefore = before.find((each) => each.name === name)?.slots;
    return { name, engine: asked, account: apiKey ?? url, weight, isDraining: drain, slotsBefore };
  }
}

function upstreamOptions(
  { id, serves }: Pick<ModelConfig, 'id' | 'serves'>,
  { model, flavor, ca, kind: _kind, replicas: _replicas, ...rest }: OpenAiEngineConfig,
  { url, apiKey, slots }: ReplicaConfig,
): Omit<UpstreamOptions, 'clock' | 'ids' | 'log'> {
  return {
    ...rest,
    url,
    model: model ?? id,
    apiKey: apiKey ?? undefined,
    flavor: flavor ?? 'auto',
    ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
    slots,
    serves: serves ?? ['chat', 'embeddings'],
  };
}

/** One server of a configured model, and what was found out by asking it. */
export interface ExaminedServer {
  model: string;
  engine: OpenAiEngineConfig;
  replica: ReplicaConfig;
  examination: Examination;
}

/** Asks every server that models are configured with what it can do, in their order. */
export function examineServers(config: Config, how: { generates: boolean }): Promise<ExaminedServer[]> {
  const parts = { clock: systemClock, ids: createIds(systemClock, systemRandom) };
  const asked = config.models.flatMap((model) => {
    const { engine } = model;
    if (engine.kind !== 'openai') return [];
    return engine.replicas.map(async (replica) => {
      const options = { ...parts, ...upstreamOptions(model, engine, replica) };
      const examination = await examineUpstream(options, { ...how, isServesTold: model.serves !== null });
      return { model: model.id, engine, replica, examination };
    });
  });
  return Promise.all(asked);
}

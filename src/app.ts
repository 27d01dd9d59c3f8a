import { hostname } from 'node:os';
import { join } from 'node:path';
import { createDiskReserve } from './app/disk-reserve.ts';
import { createJobEngines } from './app/jobs.ts';
import { createLog, secretsOf } from './app/log.ts';
import { createLimits } from './app/limits.ts';
import { openBlobs } from './app/open-blobs.ts';
import { engineFolder, openModelFiles, remoteSources, type ScriptedFactory } from './app/models.ts';
import { createTelemetry } from './app/telemetry.ts';
import { createReload } from './app/reload.ts';
import { createServing, type UnavailableServer } from './app/serving.ts';
import { createAccounts } from './accounts/create-accounts.ts';
import type { Accounts } from './accounts/accounts.ts';
import type { Clock } from './base/clock.ts';
import { StoreTime } from './base/store-time.ts';
import { createIds } from './base/ids.ts';
import { makeFolder } from './base/make-folder.ts';
import type { Log } from './base/log.ts';
import { packageVersion } from './base/program.ts';
import type { Random } from './base/random.ts';
import type { Service } from './base/service.ts';
import { systemClock, systemRandom } from './base/system.ts';
import { createBatches } from './batches/create-batches.ts';
import { type Config, blobStoreName } from './core/config.ts';
import { soleDuties } from './core/duties.ts';
import type { Model } from './core/model.ts';
import { createRetryLog } from './core/retry-log.ts';
import { runsBatches, servesRequests } from './core/role.ts';
import type { Spawn } from './engines/llama/child-process.ts';
import { createStartPulls } from './engines/llama/start-pulls.ts';
import { createEgress } from './events/egress.ts';
import type { HostLookup } from './events/host-lookup.ts';
import { createWebhooks } from './events/create-webhooks.ts';
import { createFiles } from './files/create-files.ts';
import { createInstallation } from './files/installation.ts';
import { restrictPermissions } from './files/restrict-permissions.ts';
import { createInference } from './inference/create-inference.ts';
import { withFallbacks } from './inference/fallbacks.ts';
import { withLimits } from './inference/with-limits.ts';
import { withLineFallbacks } from './inference/line-fallbacks.ts';
import { createSchemaRefusal, createSchemas } from './inference/schemas/schemas.ts';
import { createControls } from './operator/controls.ts';
import { createDuties } from './operator/duties.ts';
import { finishAnswer } from './responses/finish-answer.ts';
import { createResponses } from './responses/create-responses.ts';
import { createServer } from './server/server.ts';
import { createSurfaces } from './server/surfaces.ts';
import { createScanGate } from './store/scan-gate.ts';
import { createSqliteStore } from './store/sqlite/sqlite.ts';
import type { Store } from './store/store.ts';

/** A complete Offpeak server in this process. */
export interface App extends Service {
  /** Base URL, once started. */
  readonly url: string;
  /** Address of the console, once started; undefined without one. */
  readonly consoleUrl: string | undefined;
  readonly models: readonly Model[];
  readonly dataFolder: string;
  /** Bucket of the files, if they are not in the data folder. */
  readonly bucket: string | undefined;
  /**
   * Applies the models of the configuration that `read` returns. Running requests end where they began, and replicas with unchanged
   * settings keep their state. An invalid configuration is logged and changes nothing.
   */
  reload(read: () => Config): Promise<void>;
  /** Probes every upstream and returns those that accept no requests. */
  unavailableServers(): Promise<UnavailableServer[]>;
  /** Keys created by the first start, to be shown once. */
  readonly firstKeys: Accounts['firstKeys'];
}

/** Replacements for tests and benchmarks. */
export interface Overrides {
  clock?: Clock;
  random?: Random;
  log?: Log;
  /** Starts the processes of the embedded engine. */
  spawn?: Spawn;
  scripted?: ScriptedFactory;
  /** Looks up the hosts of webhooks. */
  lookupHost?: HostLookup;
}

/**
 * Builds and wires all services. Only this file and `app/` name implementations; those that few configurations need are loaded on
 * demand.
 *
 * `start` starts the services from the store to the HTTP server. If the data folder, a model or the port is unavailable, it stops
 * them again and rejects with an error for the operator, which may have a `hint`. `stop` drains (batch-engine.md, "Leases"):
 * it serves for `drainDelayMs` more, then accepts and claims nothing, gives work in flight `drainMs` to end, and then releases it.
 */
export async function createApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const { clock = systemClock, random = systemRandom, spawn, scripted } = overrides;
  const { log, hide, flush } = overrides.log
    ? { log: overrides.log, hide: () => {}, flush: () => {} }
    : createLog(config.logLevel, secretsOf(config), clock);
  const ids = createIds(clock, random);
  const time = new StoreTime(clock);
  const shared = { clock: time, random, ids, log };
  /** No other process uses an embedded database. */
  const exclusive = config.database === 'sqlite';

  const store: Store = exclusive
    ? createSqliteStore({ path: join(config.data, 'offpeak.db'), clock, log })
    : (await import('./store/postgres/postgres.ts')).createPostgresStore({
        url: config.database,
        ...config.postgres,
        clock,
        log,
      });
  const { bucket } = config.files;
  const blobs = await openBlobs(config, { clock, random, log });
  const folders = [...(exclusive ? [config.data] : []), ...(bucket ? [] : [blobStoreName(config)])];
  const disk = createDiskReserve({ folders, reserveBytes: config.limits.diskReserveBytes, clock, log });
  const requireDisk = () => disk.require();
  const installation = createInstallation({ ...shared, store, blobs, folder: blobStoreName(config) });
  const scans = createScanGate();
  // Another process takes them over, so an api process leaves them to those that run batches.
  const shareDuties = () => runsBatches(config.role) || !service.peers.hasOtherRunner;
  const dutyLease = exclusive
    ? undefined
    : createDuties({ store, clock, log, worker: ids.next('wrk_'), mayTake: shareDuties });
  const duties = dutyLease ?? soleDuties();
  const accounts = createAccounts({ ...shared, store, scans, duties, config });
  const modelFiles = openModelFiles(config, { clock, random });
  const jobEngines = createJobEngines(config, shared);
  const pulls = createStartPulls(modelFiles, remoteSources(config), log);
  const serving = await createServing(config, {
    ...shared,
    modelFiles,
    engineFolder: engineFolder(config),
    jobEngines,
    isShared: !exclusive,
    // A pause of a server must not last as long as a batch.
    windowMs: config.batch.windows[0].ms,
    maxSlowdown: config.batch.maxSlowdown,
    spawn,
    scripted,
  });
  const schemas = createSchemas(shared);
  const telemetry = await createTelemetry(config, { ...shared, store, serving, clock, time });
  const { counts, tracer } = telemetry;
  const service = createInference({
    ...shared,
    models: serving.models,
    batchFloor: config.batch.floor,
    runsBatches: runsBatches(config.role),
    accounts: telemetry.charging(accounts),
    usageTag: config.usageTag,
    schemas,
  });
  const { catalog, peers, capacity } = service;
  const controls = createControls({ store, clock: time, log });
  controls.onChange(() => {
    service.drain(new Set(controls.drains.map(({ id }) => id)));
    service.cap(new Map(controls.caps.map(({ id, maxInFlight }) => [id, maxInFlight])));
  });
  const { budgets } = accounts;
  const { limits, drainMs } = config;
  const surfaces = createSurfaces(config);
  const { limiter, limitReport } = createLimits(config, {
    ...shared,
    store,
    clock,
    time,
    exclusive,
    idOf: peers.idOf,
  });
  const inference = withLimits(withFallbacks(service), limiter, catalog);
  const files = createFiles({
    ...shared,
    store,
    scans,
    blobs,
    catalog: peers,
    rules: surfaces[0].rules,
    lineBytes: limits.lineBytes,
    storedBytesPerOrg: limits.storedBytes,
    requireDisk,
    userFiles: {
      purposes: config.files.purposes.filter((purpose) => purpose !== 'batch'),
      fileBytes: config.files.bytes,
      bytesPerOrg: limits.responseBytesPerOrg,
    },
    duties,
    quarantineMs: config.quarantineMs,
    diskClock: clock,
    checkSchema: createSchemaRefusal(schemas),
    isStrict: config.strictFields,
  });
  const batches = createBatches({
    ...shared,
    scans,
    tracer,
    time,
    billingClock: accounts.billingClock,
    store: counts ? { ...store, results: counts.instrument(store.results) } : store,
    blobs,
    files,
    ...withLineFallbacks(service, time),
    catalog,
    peers,
    budgets,
    controls,
    limits,
    requireDisk,
    drainMs,
    batch: { ...config.batch, endpoints: config.batch.compatibleEndpoints },
    usageTag: config.usageTag,
    process: { version: packageVersion(), host: hostname(), pid: process.pid },
    role: config.role,
    duties,
    finishAnswer,
    exclusive,
  });
  const responses = createResponses({
    ...shared,
    store,
    scans,
    inference,
    requests: batches.requests,
    backgroundTimeoutMs: config.batch.backgroundTimeoutMs,
    catalog,
    budgets,
    limits,
    requireDisk,
    exclusive,
  });
  const egress = createEgress({
    ...config.egress,
    ...(overrides.lookupHost && { resolve: overrides.lookupHost }),
  });
  const webhooks = createWebhooks({
    ...shared,
    store,
    egress,
    duties,
    exclusive,
    onAttempt: counts?.recordAttempt,
    secretsKeys: { current: config.secretsKey, accepted: config.acceptedSecretsKeys },
  });
  const unready = createRetryLog(log, { failed: 'not ready', succeeded: 'ready again' });
  const ready = async () => {
    try {
      await Promise.all([store.ping(), blobs.ping()]);
      unready.succeeded();
      return peers.hasRunner ? { ok: true } : { ok: true, warning: noRunner };
    } catch (error) {
      unready.failed(error);
      return { ok: false, reason: 'storage' };
    }
  };
  const server = createServer({
    ...shared,
    files,
    batches,
    inference,
    capacity,
    catalog,
    peers,
    responses,
    webhooks,
    accounts,
    controls,
    limitReport,
    ready,
    limits,
    surfaces,
    strictFields: config.strictFields,
    drainDelayMs: config.drainDelayMs,
    drainMs,
    role: config.role,
    ...config.server,
    version: packageVersion(),
    tracer,
    onAnswered(call) {
      counts?.recordCall(call);
      tracer?.endRequest(call);
    },
  });
  const metrics = await telemetry.createMetrics({
    catalog,
    capacity,
    openWork: () => batches.openWork(),
    waitingDeliveries: (max) => store.webhooks.waiting(max),
    orgWaits: (orgId) => budgets.waiting(orgId)?.reason ?? null,
  });

  // Starts before all services that use the database's time.
  const timing: Service = {
    async start() {
      const sentAt = time.monotonic();
      time.synchronize(await store.ping(), sentAt);
    },
    stop: () => Promise.resolve(),
  };

  // Started in the order of their dependencies, stopped in reverse.
  const parts: Service[] = [
    store,
    timing,
    blobs,
    disk,
    installation,
    controls,
    pulls,
    jobEngines,
    service,
    accounts,
    limiter,
  ];
  parts.push(...[tracer, metrics].filter((part) => part !== undefined));
  if (dutyLease) parts.push(dutyLease);
  parts.push(files, responses, webhooks, batches, server);
  let stopping: Promise<void> | null = null;

  async function stopAll(): Promise<void> {
    await server.leave();
    // The HTTP server and the batch engine drain at the same time and share `drainMs`.
    await Promise.all([server.stop(), batches.stop()]);
    for (const part of parts.slice(0, -2).toReversed()) await part.stop();
  }

  const reload = createReload(config, {
    log,
    hide,
    modelFiles,
    serving,
    replaceModels: (models) => service.replaceModels(models),
  });

  return {
    get url() {
      return server.url;
    },
    get consoleUrl() {
      return config.console && servesRequests(config.role) ? `${server.url}/console/` : undefined;
    },
    get firstKeys() {
      return accounts.firstKeys;
    },
    get models() {
      return catalog.list();
    },
    dataFolder: config.data,
    bucket: bucket && blobStoreName(config),

    unavailableServers: () => serving.unavailable(),

    reload,

    async start() {
      await makeFolder(config.data, 0o700);
      try {
        await restrictPermissions(config.data, log);
        for (const part of parts) await part.start();
        // A worker has no users, who would see them.
        if (servesRequests(config.role)) await accounts.makeFirstKeys();
        if (!peers.hasRunner) log.warn({}, noRunner);
        // Log lines of start-up precede the output of the command.
        flush();
      } catch (error) {
        await stopAll().catch((fault: unknown) => log.error({ err: fault }, 'could not stop cleanly'));
        throw error;
      }
    },

    stop: () => (stopping ??= stopAll()),
  };
}

const noRunner = 'No process with the role worker or all is running: batches and flex requests wait.';

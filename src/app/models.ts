import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { createIds, type Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { systemClock, systemRandom } from '../base/system.ts';
import {
  type Config,
  type EngineConfig,
  type ModelConfig,
  type OpenAiEngineConfig,
  type ReplicaConfig,
  type JobEngineConfig,
  serverName,
} from '../core/config.ts';
import type { Examination } from '../core/examination.ts';
import type { Model, Serves } from '../core/model.ts';
import { type ModelSource, readModelSource } from '../core/model-source.ts';
import type { Engine } from '../engines/engines.ts';
import type { Spawn } from '../engines/llama/child-process.ts';
import { type ModelFiles, createModelFiles } from '../engines/llama/model-files.ts';
import { createPool, type ReconfigurablePool } from '../engines/pool/pool.ts';
import type { ReplicaOptions } from '../engines/pool/replica.ts';
import type { JobEngines } from './jobs.ts';
import type { ScriptedOptions } from '../engines/scripted/scripted.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream.ts';
import type { UpstreamOptions } from '../engines/upstream/upstream-options.ts';

/** Opens the folder of GGUF files, for a server and for commands that work without one. */
export function openModelFiles(
  { modelFolder, hub }: Pick<Config, 'modelFolder' | 'hub'>,
  { clock, random }: { clock: Clock; random: Random },
): ModelFiles {
  return createModelFiles({ folder: modelFolder, hub, clock, random });
}

/** Folder of the builds of the embedded engine for graphics cards. */
export function engineFolder({ data }: Pick<Config, 'data'>): string {
  return join(data, 'engine');
}

/** Models to download at start-up. */
export function remoteSources({ models }: Config) {
  return models
    .flatMap(({ engine }) => (engine.kind === 'llama' ? modelSource(engine.path) : []))
    .filter((source) => source.kind !== 'path');
}

/** The path is valid: the configuration was checked when it was read. */
function modelSource(path: string): ModelSource {
  const source = readModelSource(path);
  return source.kind === 'wrong' ? { kind: 'path', path } : source;
}

/** Collaborators of engines and pools. */
export interface EngineDeps {
  modelFiles: ModelFiles;
  /** Folder of the builds of the embedded engine. */
  engineFolder: string;
  jobEngines: Pick<JobEngines, 'create'>;
  /** True if other processes may use the same database and the same upstreams. */
  isShared: boolean;
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Log;
  /** Shortest completion window of batches. */
  windowMs: number;
  /** Factor on the time of interactive requests at other servers that batches may cause; any if absent. */
  maxSlowdown?: number | undefined;
  spawn?: Spawn;
  scripted?: ScriptedFactory;
}

/** Creates the engine of `kind: scripted`. */
export type ScriptedFactory = (options: ScriptedOptions) => Engine;

export function publicModel(
  { serves, engine: settingsOfEngine, ...settings }: ModelConfig,
  engine: Engine,
  createdAt: number,
): Model {
  let current: Engine['capabilities'] | undefined;
  let served: readonly Serves[] = [];
  const extraFields = configuredFields(settingsOfEngine);
  return {
    ...settings,
    ...(extraFields.length > 0 && { extraFields }),
    createdAt,
    // An engine may learn its capabilities when it loads the model.
    get serves() {
      const { capabilities } = engine;
      if (capabilities === current) return served;
      current = capabilities;
      served = serves ?? capabilities.serves;
      if (served.includes('chat') && capabilities.formats?.completions === 'native')
        served = [...served, 'completions'];
      return served;
    },
    get contextLength() {
      return engine.capabilities.contextLength;
    },
  };
}

/** Request fields that `pass_through` and flavors of the configuration name. */
function configuredFields(engine: EngineConfig): string[] {
  if (engine.kind !== 'openai') return [];
  const kinds = [engine, ...engine.replicas.flatMap(({ kind }) => kind ?? [])];
  const flavored = kinds.flatMap(({ ownTraits }) => [
    ...(ownTraits?.fields ?? []),
    ...Object.keys(ownTraits?.names ?? {}),
  ]);
  return [...new Set([...(engine.passThrough ?? []), ...flavored])];
}

/** The pool of a model with the configuration it was made from. */
export interface ModelServers {
  config: ModelConfig;
  pool: ReconfigurablePool;
  /** Replicas that the pool will use. */
  replicas: readonly ReplicaOptions[];
}

/**
 * Creates the pool of a model, or updates it.
 * @param before the model's previous pool. Replicas with unchanged settings keep their state, such as health and discovered slots
 */
export async function modelServers(
  config: ModelConfig,
  { modelFiles, engineFolder: folder, jobEngines, isShared, scripted, maxSlowdown, ...parts }: EngineDeps,
  before?: ModelServers,
): Promise<ModelServers> {
  const { id, serves, engine } = config;
  const old = before?.config;
  const taken = new Set<Engine>();
  if (before && isDeepStrictEqual([old?.serves, old?.engine], [serves, engine])) return { ...before, config };
  const singleReplica = (name: string, only: Engine, isSharedReplica = false): ModelServers => {
    const replicas = [{ name, engine: only, account: name, weight: 1, isDraining: false }];
    return { config, replicas, pool: createPool({ ...parts, replicas, isShared: isSharedReplica }) };
  };
  switch (engine.kind) {
    case 'llama': {
      const { createLlamaEngine } = await import('../engines/llama/engine.ts');
      const { path, context, card: wish, ...rest } = engine;
      const modelPath = modelFiles.pathOf(modelSource(path));
      const card = wish && { card: { ...wish, folder } };
      const options = { ...rest, ...card, modelPath, contextSize: context, ...parts };
      return singleReplica(path, createLlamaEngine(options));
    }
    case 'openai': {
      const replicas = engine.replicas.map((each) => upstreamReplica(engine, each));
      const known = old?.engine.kind === 'openai' && before?.pool;
      return { config, replicas, pool: known || createPool({ ...parts, replicas, isShared, maxSlowdown }) };
    }
    case 'job': {
      const { runner } = engine;
      const name = runner.kind === 'ray' ? `ray ${new URL(runner.address).host}` : `job ${runner.command[0]}`;
      return singleReplica(name, await jobEngines.create(config, engine, parts.log), isShared);
    }
    case 'scripted': {
      const create = scripted ?? (await import('../engines/scripted/scripted.ts')).createScriptedEngine;
      return singleReplica(id, create({ clock: parts.clock, slots: engine.slots, delayMs: engine.delayMs }));
    }
  }

  function upstreamReplica(upstream: OpenAiEngineConfig, replica: ReplicaConfig): ReplicaOptions {
    const { apiKey, url, model, weight, drain } = replica;
    // State of a replica is stored by its name. The name includes key and model where they differ, since each may have its own limit.
    const address = serverName(replica);
    const siblings = upstream.replicas.filter((each) => serverName(each) === address);
    const key = apiKey !== null && siblings.some((each) => each.apiKey !== apiKey) ? keyMark(apiKey) : '';
    const ofModel = model !== undefined && siblings.some((each) => each.model !== model) ? ` ${model}` : '';
    const name = address + key + ofModel;
    const replicaEngine =
      unchangedEngine(upstream, replica) ??
      createUpstreamEngine({ ...parts, ...upstreamOptions({ id, serves }, upstream, replica) });
    const slotsBefore = before?.pool.replicas.find((each) => each.name === name)?.slots;
    return { name, engine: replicaEngine, account: apiKey ?? url, weight, isDraining: drain, slotsBefore };
  }

  /** Returns the existing engine of a replica whose settings, except weight and drain, are unchanged. */
  function unchangedEngine(upstream: OpenAiEngineConfig, replica: ReplicaConfig): Engine | undefined {
    if (!before || old?.engine.kind !== 'openai') return undefined;
    const previous = old.engine;
    const settings = serverSettings(config, upstream, replica);
    const found = before.replicas.find(
      ({ engine: each }, at) =>
        !taken.has(each) &&
        isDeepStrictEqual(serverSettings(old, previous, previous.replicas[at]!), settings),
    );
    if (found) taken.add(found.engine);
    return found?.engine;
  }
}

/** Distinguishes keys at one address, independent of their order. Logs show it; 4 digits do not reveal the key. */
function keyMark(apiKey: string): string {
  return `#${hash('sha256', apiKey, 'hex').slice(0, 4)}`;
}

/** Settings that determine the engine of a replica. */
function serverSettings(
  { serves }: ModelConfig,
  { replicas: _replicas, ...shared }: OpenAiEngineConfig,
  { weight: _weight, drain: _drain, ...own }: ReplicaConfig,
): unknown {
  return [serves, shared, own];
}

function upstreamOptions(
  { id, serves }: Pick<ModelConfig, 'id' | 'serves'>,
  { model, flavor, ownTraits, ca, kind: _kind, replicas: _replicas, ...rest }: OpenAiEngineConfig,
  { url, apiKey, slots, model: own, kind = { flavor, ownTraits } }: ReplicaConfig,
): Omit<UpstreamOptions, 'clock' | 'ids' | 'log'> {
  return {
    ...rest,
    url,
    model: own ?? model ?? id,
    apiKey: apiKey ?? undefined,
    flavor: kind.flavor ?? 'auto',
    ownTraits: kind.ownTraits,
    ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
    slots,
    serves: serves ?? undefined,
  };
}

/** One server of a configured model, or what runs its jobs, with the report on it. */
export interface ExaminedServer {
  model: string;
  server: string;
  engine: OpenAiEngineConfig | JobEngineConfig;
  /** Null for jobs. */
  replica: ReplicaConfig | null;
  examination: Examination;
}

/** Examines every configured upstream replica and runner of jobs, for `offpeak doctor`. Reports are in the order of the configuration. */
export async function examineServers(config: Config, how: { generates: boolean }): Promise<ExaminedServer[]> {
  const { examineUpstream } = await import('../engines/upstream/doctor/examine.ts');
  const parts = { clock: systemClock, ids: createIds(systemClock, systemRandom) };
  const examined = config.models.flatMap((model) => {
    const { engine } = model;
    if (engine.kind === 'job') return [examineRunnerOf(model.id, engine)];
    if (engine.kind !== 'openai') return [];
    return engine.replicas.map(async (replica) => {
      const options = { ...parts, ...upstreamOptions(model, engine, replica) };
      const examination = await examineUpstream(options, how);
      return { model: model.id, server: serverName(replica), engine, replica, examination };
    });
  });
  return Promise.all(examined);
}

async function examineRunnerOf(model: string, engine: JobEngineConfig): Promise<ExaminedServer> {
  const { examineJobs } = await import('./examine-jobs.ts');
  const { runner } = engine;
  const server = runner.kind === 'ray' ? new URL(runner.address).host : runner.command[0]!;
  return { model, server, engine, replica: null, examination: await examineJobs(engine) };
}

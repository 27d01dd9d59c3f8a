import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { createIds, type Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { systemClock, systemRandom } from '../base/system.ts';
import {
  type Config,
  type ModelConfig,
  type OpenAiEngineConfig,
  type ReplicaConfig,
  serverName,
} from '../core/config.ts';
import type { Examination } from '../core/examination.ts';
import type { Model, Serves } from '../core/model.ts';
import { type ModelSource, type RemoteSource, readModelSource } from '../core/model-source.ts';
import type { Engine } from '../engines/engines.ts';
import type { Spawn } from '../engines/llama/child-process.ts';
import { type ModelFiles, createModelFiles } from '../engines/llama/model-files.ts';
import { createPool, type ReconfigurablePool } from '../engines/pool/pool.ts';
import type { ReplicaOptions } from '../engines/pool/replica.ts';
import type { ScriptedOptions } from '../engines/scripted/scripted.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream.ts';
import type { UpstreamOptions } from '../engines/upstream/upstream-options.ts';

/** The GGUF files of this machine, for a server and for the commands that need none. */
export function openModelFiles(
  { modelFolder, hub }: Pick<Config, 'modelFolder' | 'hub'>,
  { clock, random }: { clock: Clock; random: Random },
): ModelFiles {
  return createModelFiles({ folder: modelFolder, hub, clock, random });
}

export function modelSources({ models }: Config): ModelSource[] {
  return models.flatMap(({ engine }) => (engine.kind === 'llama' ? modelSource(engine.path) : []));
}

/** What the configuration names was checked when it was read. */
function modelSource(path: string): ModelSource {
  const source = readModelSource(path);
  return source.kind === 'wrong' ? { kind: 'path', path } : source;
}

export function isRemote(source: ModelSource): source is RemoteSource {
  return source.kind !== 'path';
}

/** What engines and pools are made with. */
export interface EngineDeps {
  modelFiles: ModelFiles;
  /** Whether other processes may be on the same database, and ask the same servers. */
  isShared: boolean;
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Log;
  /** How long batches have. */
  windowMs: number;
  spawn?: Spawn;
  scripted?: ScriptedFactory;
}

/** Creates the engine of `kind: scripted`. */
export type ScriptedFactory = (options: ScriptedOptions) => Engine;

export function publicModel(
  { id, aliases, serves, prices, fallbacks, batchFallbacksAfterMs, hours, imageUrls }: ModelConfig,
  engine: Engine,
  createdAt: number,
): Model {
  let known: Engine['capabilities'] | undefined;
  let told: readonly Serves[] = [];
  return {
    id,
    aliases,
    prices,
    createdAt,
    fallbacks,
    hours,
    imageUrls,
    batchFallbacksAfterMs,
    // An engine may know only once it has loaded its model.
    get serves() {
      const { capabilities } = engine;
      if (capabilities === known) return told;
      known = capabilities;
      told = serves ?? capabilities.serves;
      if (told.includes('chat') && capabilities.formats?.completions === 'native')
        told = [...told, 'completions'];
      return told;
    },
    get contextLength() {
      return engine.capabilities.contextLength;
    },
  };
}

/** What answers for a model, and what it was made of. */
export interface ModelServers {
  config: ModelConfig;
  pool: ReconfigurablePool;
  /** Those that the pool is to ask from now on. */
  replicas: readonly ReplicaOptions[];
}

/**
 * @param before the model's as it was configured until now: a server that is as before keeps what was learned of it
 */
export async function modelServers(
  config: ModelConfig,
  { modelFiles, isShared, scripted, ...parts }: EngineDeps,
  before?: ModelServers,
): Promise<ModelServers> {
  const { id, serves, engine } = config;
  const old = before?.config;
  const taken = new Set<Engine>();
  if (before && isDeepStrictEqual([old?.serves, old?.engine], [serves, engine])) return { ...before, config };
  const alone = (name: string, only: Engine): ModelServers => {
    const replicas = [{ name, engine: only, account: name, weight: 1, isDraining: false }];
    return { config, replicas, pool: createPool({ ...parts, replicas }) };
  };
  switch (engine.kind) {
    case 'llama': {
      const { createLlamaEngine } = await import('../engines/llama/engine.ts');
      const { path, context, ...rest } = engine;
      const modelPath = modelFiles.pathOf(modelSource(path));
      return alone(path, createLlamaEngine({ ...rest, modelPath, contextSize: context, ...parts }));
    }
    case 'openai': {
      const replicas = engine.replicas.map((each) => upstreamReplica(engine, each));
      const known = old?.engine.kind === 'openai' && before?.pool;
      return { config, replicas, pool: known || createPool({ ...parts, replicas, isShared }) };
    }
    case 'scripted': {
      const create = scripted ?? (await import('../engines/scripted/scripted.ts')).createScriptedEngine;
      return alone(id, create({ clock: parts.clock, slots: engine.slots, delayMs: engine.delayMs }));
    }
  }

  function upstreamReplica(upstream: OpenAiEngineConfig, replica: ReplicaConfig): ReplicaOptions {
    const { apiKey, url, model, weight, drain } = replica;
    // What is remembered of a server is remembered by its name, and a server may give each key and model a limit of its own.
    const address = serverName(replica);
    const there = upstream.replicas.filter((each) => serverName(each) === address);
    const key = apiKey !== null && there.some((each) => each.apiKey !== apiKey) ? `#${markOf(apiKey)}` : '';
    const ofModel = model !== undefined && there.some((each) => each.model !== model) ? ` ${model}` : '';
    const name = address + key + ofModel;
    const asked =
      engineBefore(upstream, replica) ??
      createUpstreamEngine({ ...parts, ...upstreamOptions({ id, serves }, upstream, replica) });
    const slotsBefore = before?.pool.replicas.find((each) => each.name === name)?.slots;
    return { name, engine: asked, account: apiKey ?? url, weight, isDraining: drain, slotsBefore };
  }

  /** That of a server of which nothing has changed but how much it is given. */
  function engineBefore(upstream: OpenAiEngineConfig, replica: ReplicaConfig): Engine | undefined {
    if (!before || old?.engine.kind !== 'openai') return undefined;
    const was = old.engine;
    const settings = serverSettings(config, upstream, replica);
    const found = before.replicas.find(
      ({ engine: each }, at) =>
        !taken.has(each) && isDeepStrictEqual(serverSettings(old, was, was.replicas[at]!), settings),
    );
    if (found) taken.add(found.engine);
    return found?.engine;
  }
}

/** Tells keys at one address apart, wherever they stand in the list. Logs show it: it is too short to find a key by. */
function markOf(apiKey: string): string {
  return hash('sha256', apiKey, 'hex').slice(0, 4);
}

/** What the engine of a server is made of. */
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

/** One server of a configured model, and what was found out by asking it. */
export interface ExaminedServer {
  model: string;
  engine: OpenAiEngineConfig;
  replica: ReplicaConfig;
  examination: Examination;
}

/** Asks every server that models are configured with what it can do, in their order. */
export async function examineServers(config: Config, how: { generates: boolean }): Promise<ExaminedServer[]> {
  const { examineUpstream } = await import('../engines/upstream/doctor/examine.ts');
  const parts = { clock: systemClock, ids: createIds(systemClock, systemRandom) };
  const asked = config.models.flatMap((model) => {
    const { engine } = model;
    if (engine.kind !== 'openai') return [];
    return engine.replicas.map(async (replica) => {
      const options = { ...parts, ...upstreamOptions(model, engine, replica) };
      const examination = await examineUpstream(options, how);
      return { model: model.id, engine, replica, examination };
    });
  });
  return Promise.all(asked);
}

import { readFileSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { createIds, type Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { systemClock, systemRandom } from '../base/system.ts';
import type { Config, ModelConfig, OpenAiEngineConfig, ReplicaConfig } from '../core/config.ts';
import type { Examination } from '../core/examination.ts';
import type { Model } from '../core/model.ts';
import { readModelSource } from '../core/model-source.ts';
import type { ModelSource, RemoteSource } from '../core/model-source.ts';
import type { Engine, Pool, ReplicaState } from '../engines/engines.ts';
import type { Spawn } from '../engines/llama/child-process.ts';
import { createLlamaEngine } from '../engines/llama/engine.ts';
import { createModelFiles } from '../engines/llama/files/model-files.ts';
import type { ModelFiles } from '../engines/llama/files/model-files.ts';
import { createPool } from '../engines/pool/pool.ts';
import type { ReplicaOptions } from '../engines/pool/replica.ts';
import { createScriptedEngine } from '../engines/scripted/scripted.ts';
import { examineUpstream } from '../engines/upstream/examine.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream.ts';
import type { UpstreamOptions } from '../engines/upstream/upstream.ts';

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
interface EngineParts {
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Log;
  spawn?: Spawn;
}

export function publicModel(
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
    get contextLength() {
      return engine.capabilities.contextLength;
    },
  };
}

export function createModelPool(
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
      return createPool({
        ...parts,
        replicas: engine.replicas.map((each) => upstreamReplica(engine, each)),
        isShared: true,
      });
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

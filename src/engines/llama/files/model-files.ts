import * as nodeFs from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type {
  InspectRequest,
  LocalModel,
  ModelReport,
  PullRequest,
  PulledModel,
} from '../../../core/model-file.ts';
import type { ModelSource } from '../../../core/model-source.ts';
import type { ModelFs } from './part-file.ts';
import { localPath, partSources } from './places.ts';
import { type Hub, createWeb } from './web.ts';

/**
 * The GGUF files of this machine and how more of them get here. Everything that cannot be done is a `StartError` with a
 * `hint` where there is one; an abort rejects with the signal's reason and keeps what was fetched.
 */
export interface ModelFiles {
  /** Where a model is, or will be once it is pulled. Of a split model, its first file. */
  pathOf(source: ModelSource): string;
  /** Fetches what is not here yet. A model that is here is not asked for again. */
  pull(request: PullRequest): Promise<PulledModel>;
  inspect(request: InspectRequest): Promise<ModelReport>;
  local(): Promise<LocalModel[]>;
  close(): Promise<void>;
}

export interface ModelFilesOptions {
  /** Where pulled models stand. */
  folder: string;
  hub: Hub;
  clock: Clock;
  random: Random;
  fs?: ModelFs;
  pieceBytes?: number;
}

const usualPieceBytes = 32 * 1024 ** 2;

export function createModelFiles(options: ModelFilesOptions): ModelFiles {
  const { folder, hub, clock, random, fs = nodeFs } = options;
  const web = createWeb(hub);
  const deps = {
    folder,
    hubEndpoint: hub.endpoint,
    clock,
    random,
    fs,
    web,
    pieceBytes: options.pieceBytes ?? usualPieceBytes,
  };
  return {
    pathOf: (source) => (source.kind === 'path' ? source.path : localPath(partSources(source)[0]!, folder)),
    // A server whose models are all here needs none of these.
    pull: async (request) => (await import('./pull-model.ts')).pullModel(request, deps),
    inspect: async (request) => (await import('./inspect.ts')).inspectModel(request, deps),
    local: async () => (await import('./local-models.ts')).localModels(folder, fs),
    close: () => web.close(),
  };
}

import * as nodeFs from 'node:fs/promises';
import type { InspectRequest, PullRequest } from '../../core/model-file.ts';
import type { ModelSource } from '../../core/model-source.ts';
import type { ModelFileDeps } from './files/model-file-deps.ts';
import { localPath, partSources } from './files/paths.ts';
import { createHttpClient } from './files/http-client.ts';

export type ModelFiles = ReturnType<typeof createModelFiles>;

export type ModelFilesOptions = Omit<ModelFileDeps, 'web' | 'fs' | 'pieceBytes'> &
  Partial<Pick<ModelFileDeps, 'fs' | 'pieceBytes'>>;

const usualPieceBytes = 32 * 1024 ** 2;

/**
 * The GGUF files of this machine and how more of them get here. Everything that cannot be done is a `StartError` with a
 * `hint` where there is one; an abort rejects with the signal's reason and keeps what was fetched.
 */
export function createModelFiles(options: ModelFilesOptions) {
  const web = createHttpClient(options.hub);
  const deps: ModelFileDeps = { fs: nodeFs, pieceBytes: usualPieceBytes, ...options, web };
  const { folder, fs } = deps;
  return {
    /** Where a model is, or will be once it is pulled. Of a split model, its first file. */
    pathOf: (source: ModelSource) =>
      source.kind === 'path' ? source.path : localPath(partSources(source)[0]!, folder),
    /** Fetches what is not here yet. A model that is here is not asked for again. */
    // A server whose models are all here needs none of these files.
    pull: async (request: PullRequest) => (await import('./files/pull-model.ts')).pullModel(request, deps),
    inspect: async (request: InspectRequest) =>
      (await import('./inspect/inspect-model.ts')).inspectModel(request, deps),
    local: async () => (await import('./inspect/local-models.ts')).localModels(folder, fs),
    close: () => web.close(),
  };
}

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

/** GGUF files of this machine. Failures are `StartError`s, some with a `hint`. An abort keeps the fetched bytes. */
export function createModelFiles(options: ModelFilesOptions) {
  const web = createHttpClient(options.hub);
  const deps: ModelFileDeps = { fs: nodeFs, pieceBytes: usualPieceBytes, ...options, web };
  const { folder, fs } = deps;
  return {
    /** Path of a model, also of one that is not pulled yet; for a split model, of its first file. */
    pathOf: (source: ModelSource) =>
      source.kind === 'path' ? source.path : localPath(partSources(source)[0]!, folder),
    // Loaded late: a server that has all its models needs none of these files.
    /** Fetches the missing files of a model. */
    pull: async (request: PullRequest) => (await import('./files/pull-model.ts')).pullModel(request, deps),
    inspect: async (request: InspectRequest) =>
      (await import('./inspect/inspect-model.ts')).inspectModel(request, deps),
    local: async () => (await import('./inspect/local-models.ts')).localModels(folder, fs),
    close: () => web.close(),
  };
}

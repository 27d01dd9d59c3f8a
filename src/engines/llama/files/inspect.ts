import { availableMemory } from 'node:process';
import type { InspectRequest, ModelReport } from '../../../core/model-file.ts';
import { type RemoteSource, showSource } from '../../../core/model-source.ts';
import { describeModel } from '../gguf/describe.ts';
import { sizeOf } from './pull-file.ts';
import { localPath, partSources } from './places.ts';
import type { ModelDeps } from './fetch-file.ts';
import { type ReadFile, named, readModel, readModelFile, readParts } from './read-model.ts';
import { readRemoteHeader } from './remote-header.ts';

/** What a model's headers tell. Of a file elsewhere only the header is fetched, unless the file is here already. */
export async function inspectModel(request: InspectRequest, deps: ModelDeps): Promise<ModelReport> {
  const { source, signal, sequences, context: contextSize } = request;
  const { headers, bytes } =
    source.kind === 'path'
      ? await readModel(source.path, deps.fs)
      : await readParts(partSources(source), (part) => readAnywhere(part, deps, signal));
  return describeModel(headers, bytes, { sequences, contextSize, flashAttention: false }, availableMemory());
}

async function readAnywhere(source: RemoteSource, deps: ModelDeps, signal: AbortSignal): Promise<ReadFile> {
  const path = localPath(source, deps.folder);
  if ((await sizeOf(path, deps.fs)) !== null) return readModelFile(path, deps.fs);
  return named(showSource(source), () => readRemoteHeader(source, deps, signal));
}

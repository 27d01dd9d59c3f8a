import { availableMemory } from 'node:process';
import type { InspectRequest, ModelReport } from '../../../core/model-file.ts';
import { type RemoteSource, showSource } from '../../../core/model-source.ts';
import { describeModel } from '../gguf/describe.ts';
import { sizeOf } from './pull-file.ts';
import { localPath, partSources } from './places.ts';
import type { ModelDeps } from './pull-model.ts';
import { type ReadFile, named, readModel, readModelFile } from './read-model.ts';
import { readRemoteHeader } from './remote-header.ts';

/** What a model's headers tell. Of a file elsewhere only the header is fetched, unless the file is here already. */
export async function inspectModel(request: InspectRequest, deps: ModelDeps): Promise<ModelReport> {
  const files = await readFiles(request, deps);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const headers = files.map(({ header }) => header);
  const { sequences, context: contextSize } = request;
  return describeModel(headers, bytes, { sequences, contextSize, flashAttention: false }, availableMemory());
}

async function readFiles({ source, signal }: InspectRequest, deps: ModelDeps): Promise<ReadFile[]> {
  if (source.kind === 'path') return readModel(source.path, deps.fs);
  const files: ReadFile[] = [];
  for (const part of partSources(source)) files.push(await readAnywhere(part, deps, signal));
  return files;
}

async function readAnywhere(source: RemoteSource, deps: ModelDeps, signal: AbortSignal): Promise<ReadFile> {
  const path = localPath(source, deps.folder);
  if ((await sizeOf(path, deps.fs)) !== null) return readModelFile(path, deps.fs);
  return named(showSource(source), () => readRemoteHeader(source, deps, signal));
}

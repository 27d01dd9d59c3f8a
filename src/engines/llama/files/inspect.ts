import { basename, dirname, join } from 'node:path';
import { availableMemory } from 'node:process';
import type { InspectRequest, ModelReport } from '../../../core/model-file.ts';
import { showSource } from '../../../core/model-source.ts';
import type { RemoteSource } from '../../../core/model-source.ts';
import { withFile } from '../gguf/byte-source.ts';
import { GgufFault } from '../gguf/cursor.ts';
import { describeModel } from '../gguf/describe.ts';
import { readGgufHeader } from '../gguf/header.ts';
import type { GgufHeader } from '../gguf/header.ts';
import { ModelFileError } from './faults.ts';
import { sizeOf } from './pull-file.ts';
import { localPath, partSources } from './pull-model.ts';
import type { ModelDeps } from './pull-model.ts';
import { readRemoteHeader } from './remote-header.ts';
import { allParts } from './split.ts';

interface ReadFile {
  header: GgufHeader;
  bytes: number;
}

/** What a model's headers tell. Of a file elsewhere only the header is fetched, unless the file is here already. */
export async function inspectModel(request: InspectRequest, deps: ModelDeps): Promise<ModelReport> {
  const files = await readFiles(request, deps);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const headers = files.map(({ header }) => header);
  const { sequences, context: contextSize } = request;
  return describeModel(headers, bytes, { sequences, contextSize, freeBytes: availableMemory() });
}

async function readFiles({ source, signal }: InspectRequest, deps: ModelDeps): Promise<ReadFile[]> {
  if (source.kind === 'path')
    return inTurn(allParts(basename(source.path)), (name) =>
      readLocal(join(dirname(source.path), name), deps),
    );
  return inTurn(partSources(source), (part) => readAnywhere(part, deps, signal));
}

async function readAnywhere(source: RemoteSource, deps: ModelDeps, signal: AbortSignal): Promise<ReadFile> {
  const path = localPath(source, deps.folder);
  if ((await sizeOf(path, deps.fs)) !== null) return readLocal(path, deps);
  return named(showSource(source), () => readRemoteHeader(source, deps, signal));
}

export async function readLocal(path: string, { fs }: Pick<ModelDeps, 'fs'>): Promise<ReadFile> {
  const bytes = await sizeOf(path, fs);
  if (bytes === null) throw new ModelFileError(`There is no file ${path}.`);
  const header = await named(path, () => withFile(path, (source) => readGgufHeader(source)));
  if (header.fileBytes !== null && bytes < header.fileBytes)
    throw new ModelFileError(
      `${path} is cut short: it has ${bytes} bytes of ${header.fileBytes}.`,
      'Fetch it again.',
    );
  return { header, bytes };
}

async function named<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GgufFault)
      throw new ModelFileError(`${name} is not a GGUF model file: ${error.message}.`);
    throw error;
  }
}

async function inTurn<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await read(item));
  return results;
}

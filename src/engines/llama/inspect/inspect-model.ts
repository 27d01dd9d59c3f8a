import { availableMemory } from 'node:process';
import { buffer } from 'node:stream/consumers';
import type { InspectRequest, ModelReport } from '../../../core/model-file.ts';
import { type RemoteSource, formatSource } from '../../../core/model-source.ts';
import { describeModel } from './describe.ts';
import { readGgufHeader } from '../gguf/header.ts';
import { TransientFault, ModelFileError } from '../files/faults.ts';
import { fileSize } from '../files/part-file.ts';
import { localPath, partSources } from '../files/paths.ts';
import type { Range } from '../files/ranges.ts';
import type { ModelFileDeps } from '../files/model-file-deps.ts';
import { type ReadFile, named, readModel, readModelFile, readParts } from '../files/read-model.ts';
import { checkAnswer, hostOf, probeRemoteFile } from '../files/remote.ts';
import { withRetries } from '../files/with-retries.ts';

/** What a model's headers tell. Of a file elsewhere only the header is fetched, unless the file is here already. */
export async function inspectModel(request: InspectRequest, deps: ModelFileDeps): Promise<ModelReport> {
  const { source, signal, sequences, context: contextSize } = request;
  const { headers, bytes } =
    source.kind === 'path'
      ? await readModel(source.path, deps.fs)
      : await readParts(partSources(source), (part) => readAnywhere(part, deps, signal));
  return describeModel(headers, bytes, { sequences, contextSize, flashAttention: false }, availableMemory());
}

async function readAnywhere(
  source: RemoteSource,
  deps: ModelFileDeps,
  signal: AbortSignal,
): Promise<ReadFile> {
  const path = localPath(source, deps.folder);
  if ((await fileSize(path, deps.fs)) !== null) return readModelFile(path, deps.fs);
  return named(formatSource(source), () => readRemoteHeader(source, deps, signal));
}

/** Asked for at once: most of a vocabulary, without most of the weights. */
const pieceBytes = 2 * 1024 ** 2;

/** Fetches the header of a file on a server, and little behind it. */
async function readRemoteHeader(
  source: RemoteSource,
  deps: ModelFileDeps,
  signal: AbortSignal,
): Promise<ReadFile> {
  const call = { signal, onNote: () => {} };
  const file = await probeRemoteFile(source, deps, call);
  const { url, size, ranges } = file;
  if (size === null || !ranges)
    throw new ModelFileError(
      `${hostOf(url)} gives the file only as a whole.`,
      'Pull it first, then inspect it.',
    );
  async function* pieces(whole: number): AsyncGenerator<Buffer> {
    for (let start = 0; start < whole; start += pieceBytes) {
      const wanted = { start, end: Math.min(start + pieceBytes, whole) };
      yield await withRetries(deps, call, () => readRange(wanted));
    }
  }
  async function readRange(wanted: Range): Promise<Buffer> {
    const answer = await deps.web.open(url, { range: wanted, signal });
    checkAnswer(answer, wanted, file);
    const bytes = await buffer(answer.body);
    if (bytes.length === wanted.end - wanted.start) return bytes;
    throw new TransientFault(`${hostOf(url)} sent less than it had announced`);
  }
  return { header: await readGgufHeader(pieces(size)), bytes: size };
}

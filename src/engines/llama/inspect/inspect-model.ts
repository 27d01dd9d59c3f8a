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
import { named, readModel, readModelFile, readParts } from '../files/read-model.ts';
import { checkAnswer, hostOf, probeRemoteFile } from '../files/remote.ts';
import { withRetries } from '../files/with-retries.ts';

/** Describes a model by its headers. For a remote file that is not here yet, only the header is fetched. */
export async function inspectModel(request: InspectRequest, deps: ModelFileDeps): Promise<ModelReport> {
  const { source, signal, sequences, context: contextSize, card } = request;
  const { headers, bytes } =
    source.kind === 'path'
      ? await readModel(source.path, deps.fs)
      : await readParts(partSources(source), (part) => readAnywhere(part, deps, signal));
  const wanted = { sequences, contextSize, flashAttention: false };
  return describeModel(headers, bytes, wanted, availableMemory(), card);
}

async function readAnywhere(source: RemoteSource, deps: ModelFileDeps, signal: AbortSignal) {
  const path = localPath(source, deps.folder);
  if ((await fileSize(path, deps.fs)) !== null) return readModelFile(path, deps.fs);
  return named(formatSource(source), () => readRemoteHeader(source, deps, signal));
}

/** Bytes of one request: most of a vocabulary, little of the weights. */
const pieceBytes = 2 * 1024 ** 2;

async function readRemoteHeader(source: RemoteSource, deps: ModelFileDeps, signal: AbortSignal) {
  const call = { signal, onNote: () => {} };
  const file = await probeRemoteFile(source, deps, call);
  const { url, size, ranges } = file;
  if (size === null || !ranges)
    throw new ModelFileError(
      `${hostOf(url)} does not support range requests for this file.`,
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
    throw new TransientFault(`${hostOf(url)} sent fewer bytes than announced`);
  }
  return { header: await readGgufHeader(pieces(size)), bytes: size };
}

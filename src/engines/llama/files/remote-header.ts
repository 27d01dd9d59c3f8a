import { buffer } from 'node:stream/consumers';
import type { RemoteSource } from '../../../core/model-source.ts';
import { type GgufHeader, readGgufHeader } from '../gguf/header.ts';
import { Broken, Changed, ModelFileError } from './faults.ts';
import type { Range } from './ranges.ts';
import { urlOf } from './places.ts';
import type { ModelDeps } from './fetch-file.ts';
import { checkAnswer, hostOf, lookAt } from './remote.ts';
import { retried } from './retried.ts';

/** Asked for at once: most of a vocabulary, without most of the weights. */
const pieceBytes = 2 * 1024 ** 2;

/** Fetches the header of a file on a server, and little behind it. */
export async function readRemoteHeader(
  source: RemoteSource,
  deps: ModelDeps,
  signal: AbortSignal,
): Promise<{ header: GgufHeader; bytes: number }> {
  const url = urlOf(source, deps.hubEndpoint);
  const call = { signal, onNote: () => {} };
  const file = await retried(deps, call, () => lookAt(deps.web, url, signal));
  const { size, ranges } = file;
  if (size === null || !ranges)
    throw new ModelFileError(
      `${hostOf(url)} gives the file only as a whole.`,
      'Pull it first, then inspect it.',
    );
  async function* pieces(whole: number): AsyncGenerator<Buffer> {
    for (let start = 0; start < whole; start += pieceBytes) {
      const wanted = { start, end: Math.min(start + pieceBytes, whole) };
      yield await retried(deps, call, () => readRange(wanted));
    }
  }
  async function readRange(wanted: Range): Promise<Buffer> {
    const answer = await deps.web.open(url, { range: wanted, signal });
    try {
      checkAnswer(answer, wanted, file);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      throw new ModelFileError('The file changed on the server while it was read.');
    }
    const bytes = await buffer(answer.body);
    if (bytes.length === wanted.end - wanted.start) return bytes;
    throw new Broken(`${hostOf(url)} sent less than it had announced`);
  }
  return { header: await readGgufHeader(pieces(size)), bytes: size };
}

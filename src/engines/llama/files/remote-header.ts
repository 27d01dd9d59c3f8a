import type { RemoteSource } from '../../../core/model-source.ts';
import type { ByteSource } from '../gguf/byte-source.ts';
import { type GgufHeader, readGgufHeader } from '../gguf/header.ts';
import { Broken, Changed, ModelFileError } from './faults.ts';
import { urlOf } from './places.ts';
import type { ModelDeps } from './pull-model.ts';
import { type RemoteFile, checkAnswer, hostOf, lookAt } from './remote.ts';
import { retried } from './retried.ts';
import { networkReason } from '../../../base/network-reason.ts';

/** Asked for at once: most of a vocabulary, without most of the weights. */
const windowBytes = 2 * 1024 ** 2;

/** Fetches the header of a file on a server, and nothing behind it but the rest of the last window. */
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
  const bytes: ByteSource = {
    async read(offset, length) {
      const wanted = { start: offset, end: Math.min(offset + length, size) };
      if (wanted.end <= wanted.start) return Buffer.alloc(0);
      return retried(deps, call, () => readRange(file, wanted, deps, signal));
    },
  };
  return { header: await readGgufHeader(bytes, windowBytes), bytes: size };
}

async function readRange(
  file: RemoteFile,
  wanted: { start: number; end: number },
  { web }: ModelDeps,
  signal: AbortSignal,
): Promise<Buffer> {
  const answer = await web.open(file.url, { range: wanted, signal });
  try {
    await checkAnswer(answer, wanted, file);
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    if (bytes.length === wanted.end - wanted.start) return bytes;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ModelFileError || error instanceof Broken) throw error;
    if (error instanceof Changed)
      throw new ModelFileError('The file changed on the server while it was read.');
    throw new Broken(networkReason(error, hostOf(file.url)), { cause: error });
  }
  throw new Broken(`${hostOf(file.url)} sent less than it had announced`);
}

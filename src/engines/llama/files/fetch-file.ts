import { mapConcurrent } from '../../../base/map-concurrent.ts';
import { TransientFault, RemoteFileChanged, ModelFileError } from './faults.ts';
import type { ModelFileDeps } from './model-file-deps.ts';
import type { PartFile } from './part-file.ts';
import { type Range, missingPieces } from './ranges.ts';
import { type RemoteFile, checkAnswer, contentLength, hostOf } from './remote.ts';
import { type RetryCall, withRetries } from './with-retries.ts';
import type { HttpResponse } from './http-client.ts';

/** More connections would not help where the line is the limit, and would be impolite where the server is. */
const connections = 4;

/**
 * Fetches the missing bytes of a file into its part file: over several connections where the server supports ranges, else
 * as one stream from the start. A broken connection resumes where it broke.
 * @throws RemoteFileChanged
 */
export async function fetchFile(
  file: RemoteFile,
  part: PartFile,
  deps: ModelFileDeps,
  call: RetryCall & { onBytes: () => void },
): Promise<void> {
  const host = hostOf(file.url);

  /** Writes a body to its place. Refuses more bytes than `wanted`; the caller notices fewer. */
  async function pour({ body }: HttpResponse, wanted: Range, onEnd: (end: number) => void): Promise<void> {
    let at = wanted.start;
    for await (const chunk of body) {
      if (at + chunk.length > wanted.end) throw new ModelFileError(`${host} sent more bytes than announced.`);
      await part.write(chunk, at);
      at += chunk.length;
      onEnd(at);
      call.onBytes();
    }
  }

  async function fetchStream(): Promise<true> {
    await part.clear();
    const answer = await deps.web.open(file.url, { signal: call.signal });
    const size = contentLength(answer);
    if (file.size !== null && size !== null && size !== file.size)
      throw new RemoteFileChanged('The file changed on the server.');
    let end = 0;
    await pour(answer, { start: 0, end: size ?? Infinity }, (at) => (end = at));
    if (size !== null && end < size)
      throw new TransientFault(`the connection ended after ${end} of ${size} bytes`);
    return true;
  }

  async function fetchPiece(piece: Range, signal: AbortSignal): Promise<void> {
    let { start } = piece;
    await withRetries(deps, { ...call, signal }, async () => {
      const before = start;
      const wanted = { start, end: piece.end };
      const answer = await deps.web.open(file.url, { range: wanted, signal });
      checkAnswer(answer, wanted, file);
      try {
        await pour(answer, wanted, (at) => (start = at));
      } catch (error) {
        if (!(error instanceof TransientFault) || start === before) throw error;
      }
      if (start === before) throw new TransientFault(`${host} sent nothing`);
      return start === piece.end || undefined;
    });
  }

  if (!file.ranges || file.size === null) return void (await withRetries(deps, call, fetchStream));
  const pieces = missingPieces(part.done, file.size, deps.pieceBytes);
  await mapConcurrent(connections, pieces, call.signal, fetchPiece);
}

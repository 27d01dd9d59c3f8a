import { splitLines } from '../base/byte-lines.ts';
import type { Batches } from '../batches/batches.ts';
import type { Caller } from '../core/org.ts';
import { messageResultLine } from '../wire/message-batches/result-line.ts';

/** Lines are sent in pieces of this many characters or so. */
const pieceLength = 65_536;
const streams = ['output', 'errors'] as const;

/**
 * The results of a finished batch of `/v1/messages` in the shape of that format, those that succeeded first.
 * @throws ApiError as `Batches.results`, before anything is read
 */
export async function messageResults(
  batches: Pick<Batches, 'results'>,
  caller: Caller,
  batchId: string,
): Promise<AsyncIterable<Uint8Array>> {
  const both = await Promise.all(streams.map((stream) => batches.results(caller, batchId, stream, 0)));
  return (async function* () {
    const encoder = new TextEncoder();
    let piece = '';
    for (const [at, stream] of streams.entries())
      for await (const { bytes } of splitLines(both[at]!.bytes)) {
        piece += `${messageResultLine(Buffer.from(bytes).toString('utf8'), stream)}\n`;
        if (piece.length < pieceLength) continue;
        yield encoder.encode(piece);
        piece = '';
      }
    if (piece !== '') yield encoder.encode(piece);
  })();
}

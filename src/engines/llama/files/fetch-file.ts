import { Broken, Changed, ModelFileError } from './faults.ts';
import type { PartFile } from './part-file.ts';
import { type Range, missingPieces } from './ranges.ts';
import { type RemoteFile, checkAnswer, contentLength, hostOf } from './remote.ts';
import { type RetryCall, type RetryDeps, retried } from './retried.ts';
import type { Web, WebAnswer } from './web.ts';

export interface FetchDeps extends RetryDeps {
  web: Web;
  /** The most that is asked for at once. */
  pieceBytes: number;
}

/** At once. More does not help where the line is the limit, and is impolite where the server is. */
const connections = 4;

export interface FetchCall extends RetryCall {
  onBytes: () => void;
}

/**
 * Brings what is missing of a file into its part: in pieces over several connections where the server gives ranges, else
 * as one stream from the beginning. A broken connection is taken up again where it broke.
 * @throws Changed when the file is no longer what it was
 */
export async function fetchFile(
  file: RemoteFile,
  part: PartFile,
  deps: FetchDeps,
  call: FetchCall,
): Promise<void> {
  if (file.ranges && file.size !== null) return fetchPieces(file, file.size, part, deps, call);
  await retried(deps, call, async () => {
    await part.clear();
    const answer = await deps.web.open(file.url, { signal: call.signal });
    const size = contentLength(answer);
    if (file.size !== null && size !== null && size !== file.size) throw new Changed();
    let end = 0;
    await pour(
      answer,
      { start: 0, end: size ?? Infinity },
      { file, part, ...call, onEnd: (at) => (end = at) },
    );
    if (size !== null && end < size) throw new Broken(`the connection ended after ${end} of ${size} bytes`);
    return true;
  });
}

async function fetchPieces(
  file: RemoteFile,
  size: number,
  part: PartFile,
  deps: FetchDeps,
  call: FetchCall,
): Promise<void> {
  const pieces = missingPieces(part.done, size, deps.pieceBytes);
  const failure = new AbortController();
  const signal = AbortSignal.any([call.signal, failure.signal]);
  const work = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift())
      await fetchPiece(file, piece, part, deps, { ...call, signal });
  };
  const workers = Array.from({ length: Math.min(connections, pieces.length) }, () =>
    work().catch((error: unknown) => {
      // One that gives up ends the others; its reason is the one that is told.
      failure.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(workers);
  call.signal.throwIfAborted();
  if (failure.signal.aborted) throw failure.signal.reason;
}

async function fetchPiece(
  file: RemoteFile,
  piece: Range,
  part: PartFile,
  deps: FetchDeps,
  call: FetchCall,
): Promise<void> {
  let { start } = piece;
  await retried(deps, call, async () => {
    const before = start;
    const wanted = { start, end: piece.end };
    const answer = await deps.web.open(file.url, { range: wanted, signal: call.signal });
    checkAnswer(answer, wanted, file);
    try {
      await pour(answer, wanted, { file, part, ...call, onEnd: (at) => (start = at) });
    } catch (error) {
      if (!(error instanceof Broken) || start === before) throw error;
    }
    if (start === before) throw new Broken(`${hostOf(file.url)} sent nothing`);
    return start === piece.end || undefined;
  });
}

/** Writes a body to its place. More than `wanted` is refused, less is for the caller to notice. */
async function pour(
  { body }: WebAnswer,
  wanted: Range,
  {
    file,
    part,
    onEnd,
    onBytes,
  }: FetchCall & { file: RemoteFile; part: PartFile; onEnd: (end: number) => void },
): Promise<void> {
  let at = wanted.start;
  for await (const chunk of body) {
    if (at + chunk.length > wanted.end)
      throw new ModelFileError(`${hostOf(file.url)} sent more bytes than it had announced.`);
    await part.write(chunk, at);
    at += chunk.length;
    onEnd(at);
    onBytes();
  }
}

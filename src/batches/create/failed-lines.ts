import { parseLine, splitLines } from '../../base/byte-lines.ts';
import { fieldsOf } from '../../base/fields.ts';
import type { Batch } from '../../core/batch.ts';
import { ApiError } from '../../core/errors.ts';
import type { Files } from '../../files/files.ts';
import type { Store } from '../../store/store.ts';
import { requireFinished } from '../remove.ts';
import { lineOfRequest } from '../lines/line-result.ts';

export interface FailedLinesDeps {
  store: Pick<Store, 'files'>;
  files: Pick<Files, 'index' | 'read'>;
  /** Epoch milliseconds. */
  now: number;
}

const newline = Uint8Array.of(0x0a);

/** @throws ApiError `batch_not_finished`, `nothing_to_retry` */
export function requireFailures(batch: Batch): void {
  requireFinished(batch, 'its failed requests can be run again');
  if (batch.err === 0)
    throw new ApiError('nothing_to_retry', 'No request of the batch failed, so there is nothing to retry.');
}

/**
 * Reads the failed input lines of a finished batch, in file order, as JSON Lines.
 * @param errors error lines of the batch, from the first on
 * @param codes error codes of the lines; all if absent
 * @throws ApiError `nothing_to_retry`; `not_found` if the input is gone, BlobError if it is damaged
 */
export async function failedLines(
  { store, files, now }: FailedLinesDeps,
  { orgId, inputFileId }: Batch,
  errors: AsyncIterable<Uint8Array>,
  codes?: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  const input = await store.files.get(orgId, inputFileId, now);
  if (!input)
    throw new ApiError(
      'not_found',
      'The input file of the batch is gone: it was deleted or has expired. Upload the failed requests and create a batch from them.',
    );
  const failed = await linesWithCodes(errors, codes);
  const { offset, length } = await files.index(input);
  const spans = [...failed]
    .toSorted((a, b) => a - b)
    .map((line) => ({ start: offset[line]!, end: offset[line]! + length[line]! }));
  return cutOut(await files.read(input), spans);
}

/** Numbers of the lines that failed with these codes. @throws ApiError `nothing_to_retry` */
async function linesWithCodes(
  errors: AsyncIterable<Uint8Array>,
  codes: readonly string[] | undefined,
): Promise<Set<number>> {
  const failed = new Set<number>();
  const found = new Set<string>();
  for await (const { bytes } of splitLines(errors)) {
    const result = parseLine(bytes);
    const code = String(fieldsOf(result?.['error'])['code']);
    found.add(code);
    if (codes === undefined || codes.includes(code)) failed.add(lineOfRequest(String(result?.['id'])));
  }
  if (codes !== undefined && failed.size === 0)
    throw new ApiError(
      'nothing_to_retry',
      `No request of the batch failed with ${codes.join(' or ')}. The codes of its failures are ${[...found].join(', ')}.`,
      { param: 'codes' },
    );
  return failed;
}

/** Cuts the spans out of a stream, each followed by a newline. Reads the stream to its end. */
async function* cutOut(
  stream: AsyncIterable<Uint8Array>,
  spans: readonly { start: number; end: number }[],
): AsyncGenerator<Uint8Array> {
  let at = 0;
  let next = 0;
  for await (const chunk of stream) {
    const behind = at + chunk.length;
    for (let span = spans[next]; span && span.start < behind; span = spans[next]) {
      yield chunk.subarray(Math.max(0, span.start - at), Math.min(chunk.length, span.end - at));
      if (span.end > behind) break;
      yield newline;
      next++;
    }
    at = behind;
  }
}

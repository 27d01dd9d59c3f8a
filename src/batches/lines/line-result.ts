import type { Batch } from '../../core/batch.ts';
import type { ApiError, ErrorCode } from '../../core/errors.ts';
import { noUsage, type Usage } from '../../core/usage.ts';
import type { LineResult } from '../../store/contract/results.ts';
import { lineFormats } from '../../wire/batch/line-formats.ts';
import { errorLine, outputLine } from '../../wire/batch/result-line.ts';
import { errorObject } from '../../wire/errors/error-body.ts';

/** Codes of lines nobody answered: their error lines carry no response (api.md, section 5). */
const unanswered: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_timeout',
  'upstream_unreachable',
  'invalid_upstream_response',
  'poison_request',
  'batch_cancelled',
  'batch_expired',
  'batch_failed',
]);

/** `req_<batch>_<line>`: the same line always has the same request id, however often it is sent. */
export function lineRequestId(batchId: string, line: number): string {
  return `req_${batchId.slice('batch_'.length)}_${line}`;
}

/** The number of the line whose request id this is. */
export function lineOfRequest(requestId: string): number {
  return Number(requestId.slice(requestId.lastIndexOf('_') + 1));
}

/**
 * A line that was answered with 2xx.
 * @param answer its body as the client sees it, or the JSON text of that
 */
export function outputResult(
  batchId: string,
  line: number,
  customId: string,
  model: string,
  answer: { body: object | string; usage: Usage },
  attempts: number,
): LineResult {
  const text = outputLine({ id: lineRequestId(batchId, line), customId, body: answer.body });
  return {
    batchId,
    line,
    stream: 'output',
    body: bytesOf(text),
    model,
    usage: answer.usage,
    attempts,
    code: null,
  };
}

/** A line that ended without a 2xx answer. `customId` is null only when the input cannot be read any more. */
export function failedResult(
  { id: batchId, endpoint }: Pick<Batch, 'id' | 'endpoint'>,
  line: number,
  customId: string | null,
  model: string,
  error: ApiError,
  attempts: number,
): LineResult {
  const id = lineRequestId(batchId, line);
  const format = lineFormats[endpoint].errors;
  const told = errorObject(error, format);
  const body = format === 'messages' ? { type: 'error', error: told, request_id: id } : { error: told };
  const text = errorLine({
    id,
    customId,
    response: unanswered.has(error.code) ? null : { statusCode: error.status, body },
    error: { ...told, attempts, retryable: error.blame.retry },
  });
  return {
    batchId,
    line,
    stream: 'errors',
    body: bytesOf(text),
    model,
    usage: noUsage,
    attempts,
    code: error.code,
  };
}

const encoder = new TextEncoder();

/** In memory of its own: a few hundred bytes of the pool that buffers share would keep 64 KiB until they are recorded. */
function bytesOf(text: string): Buffer {
  return Buffer.from(encoder.encode(text).buffer);
}

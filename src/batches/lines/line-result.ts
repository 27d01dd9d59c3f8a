import { words } from '../../base/words.ts';
import type { Batch } from '../../core/batch.ts';
import type { ApiError, ErrorCode } from '../../core/errors.ts';
import type { LineRun } from '../../core/line.ts';
import { exactCost, noCost, roundCost } from '../../core/price.ts';
import { lineRequestId } from '../../core/request-group.ts';
import { noUsage, type Usage } from '../../core/usage.ts';
import type { LineResult } from '../../store/contract/results.ts';
import { lineFormats } from '../../wire/batch/line-formats.ts';
import { errorLine, outputLine } from '../../wire/batch/result-line.ts';
import { errorObject } from '../../wire/errors/error-body.ts';

/** Codes of lines without an answer: their error lines have no `response`. */
const unanswered: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...words('upstream_timeout upstream_unreachable invalid_upstream_response poison_request'),
  ...words('batch_cancelled batch_expired batch_failed'),
]);

/** Number of the line with this request id. */
export function lineOfRequest(requestId: string): number {
  return Number(requestId.slice(requestId.lastIndexOf('_') + 1));
}

/**
 * Result of a line that was answered with 2xx.
 * @param answer body as the client sees it, or its JSON text
 * @param model name of the model in the prices of the batch
 */
export function outputResult(
  { id: batchId, prices, priceFactor }: Pick<Batch, 'id' | 'prices' | 'priceFactor'>,
  line: number,
  customId: string,
  model: string,
  answer: { body: object | string; usage: Usage },
  attempts: number,
  run?: Omit<LineRun, 'nano'>,
): LineResult {
  const text = outputLine({ id: lineRequestId({ batchId, line }), customId, body: answer.body });
  const cost = Object.hasOwn(prices, model) ? exactCost(answer.usage, prices[model]!, priceFactor) : noCost;
  return {
    batchId,
    line,
    stream: 'output',
    body: bytesOf(text),
    model,
    usage: answer.usage,
    cost,
    attempts,
    code: null,
    ...(run && { run: { ...run, nano: roundCost(cost) } }),
  };
}

/** Result of a line without a 2xx answer. `customId` is null only if the input is unreadable. */
export function failedResult(
  { id: batchId, endpoint }: Pick<Batch, 'id' | 'endpoint'>,
  line: number,
  customId: string | null,
  model: string,
  error: ApiError,
  attempts: number,
  run?: Omit<LineRun, 'nano'>,
): LineResult {
  const id = lineRequestId({ batchId, line });
  const format = lineFormats[endpoint].errors;
  const reported = errorObject(error, format);
  const body = { error: reported, ...(format === 'messages' && { type: 'error', request_id: id }) };
  const text = errorLine({
    id,
    customId,
    response: unanswered.has(error.code) ? null : { statusCode: error.status, body },
    error: { ...reported, attempts, retryable: error.blame.retry },
  });
  return {
    batchId,
    line,
    stream: 'errors',
    body: bytesOf(text),
    model,
    usage: noUsage,
    cost: noCost,
    attempts,
    code: error.code,
    ...(run && { run: { ...run, nano: 0 } }),
  };
}

const encoder = new TextEncoder();

/** Copies out of the shared buffer pool: a few hundred bytes would keep 64 KiB of it alive until they are recorded. */
function bytesOf(text: string): Buffer {
  return Buffer.from(encoder.encode(text).buffer);
}

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

/** End of a line, with an answer or without. */
export interface LineEnd extends Pick<LineResult, 'line' | 'model' | 'attempts'> {
  run?: Omit<LineRun, 'nano'>;
}

/**
 * Result of a line that was answered with 2xx.
 * @param answer body as the client sees it, or its JSON text
 */
export function outputResult(
  { id: batchId, prices, priceFactor }: Pick<Batch, 'id' | 'prices' | 'priceFactor'>,
  end: LineEnd,
  customId: string,
  { body, usage }: { body: object | string; usage: Usage },
): LineResult {
  const price = Object.hasOwn(prices, end.model) ? prices[end.model] : undefined;
  const cost = price ? exactCost(usage, price, priceFactor) : noCost;
  const text = outputLine({ id: lineRequestId({ batchId, line: end.line }), customId, body });
  return toResult(batchId, end, text, { stream: 'output', usage, cost, code: null });
}

/** Result of a line without a 2xx answer. `customId` is null only if the input is unreadable. */
export function failedResult(
  { id: batchId, endpoint }: Pick<Batch, 'id' | 'endpoint'>,
  end: LineEnd,
  customId: string | null,
  error: ApiError,
): LineResult {
  const id = lineRequestId({ batchId, line: end.line });
  const format = lineFormats[endpoint].errors;
  const reported = errorObject(error, format);
  const body = { error: reported, ...(format === 'messages' && { type: 'error', request_id: id }) };
  const { code } = error;
  const text = errorLine({
    id,
    customId,
    response: unanswered.has(code) ? null : { statusCode: error.status, body },
    error: { ...reported, attempts: end.attempts, retryable: error.blame.retry },
  });
  return toResult(batchId, end, text, { stream: 'errors', usage: noUsage, cost: noCost, code });
}

function toResult(
  batchId: string,
  { run, ...end }: LineEnd,
  text: string,
  result: Pick<LineResult, 'stream' | 'usage' | 'cost' | 'code'>,
): LineResult {
  const charged = run && { run: { ...run, nano: roundCost(result.cost) } };
  return { batchId, ...end, ...result, body: bytesOf(text), ...charged };
}

const encoder = new TextEncoder();

/** Copies out of the shared buffer pool: a few hundred bytes would keep 64 KiB of it alive until they are recorded. */
function bytesOf(text: string): Buffer {
  return Buffer.from(encoder.encode(text).buffer);
}

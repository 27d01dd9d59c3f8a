import type { CallTrace } from '../../core/call-trace.ts';
import { ApiError, type ErrorCode, errorCatalog } from '../../core/errors.ts';
import { noUsage } from '../../core/usage.ts';
import type { RequestResult } from '../../store/contract/requests.ts';
import { bodyOfOutput } from '../../wire/batch/result-line.ts';

/** Seconds after which a request that found no room may be repeated. */
const retryAfter = 60;

const decoder = new TextDecoder();

/**
 * Notes how a request got its result.
 * @param isRepeat true for a repeat of the request, which neither waited for a slot nor is charged
 */
export function noteResult(
  trace: CallTrace,
  { stream, model, run, ...result }: RequestResult,
  isRepeat: boolean,
): void {
  trace.model = model;
  trace.server = run?.server ?? undefined;
  if (isRepeat) return;
  trace.firstOutputMs = run?.ms;
  const { inputTokens, cachedTokens, outputTokens } = result;
  if (stream === 'output') trace.billed = { ...noUsage, inputTokens, cachedTokens, outputTokens };
}

/** JSON text of the answer that a result has. @throws ApiError that a failed result has */
export function answerOf({ stream, body }: Pick<RequestResult, 'stream' | 'body'>): string {
  const line = decoder.decode(body);
  if (stream === 'output') return bodyOfOutput(line);
  const { error } = JSON.parse(line) as { error: { code: string; message: string; param: string | null } };
  const code = Object.hasOwn(errorCatalog, error.code) ? (error.code as ErrorCode) : 'upstream_error';
  throw new ApiError(code, error.message, {
    param: error.param,
    ...(code === 'resource_unavailable' && { retryAfter }),
  });
}

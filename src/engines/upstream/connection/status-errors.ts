import type { IncomingHttpHeaders } from 'node:http';
import { fieldsOf, parseOrUndefined } from '../../../base/fields.ts';
import { ambiguous, ApiError, permanent, transient, unavailable } from '../../../core/errors.ts';
import { effectiveStatus, type FailureRule, type UpstreamError } from './failure-rules.ts';
import { retryAfterSeconds } from './rate-headers.ts';
import { scrub } from './scrub.ts';
import { SystemPlacementError, systemRefusal } from './system-refusal.ts';

export interface RefusalContext {
  /** Epoch milliseconds, for `retry-after` dates. */
  now: number;
  secrets: readonly string[];
  /** Rules for failures that this kind of server reports in its own way. */
  failures?: readonly FailureRule[] | undefined;
  /** Logs a scrubbed message that no client sees. */
  logMessage: (status: number, scrubbed: string) => void;
}

/** Error for a status other than 2xx (F18 to F22). The upstream's message is shown only where the request is at fault. */
export function errorForStatus(
  { status: given, headers, text }: { status: number; headers: IncomingHttpHeaders; text: string },
  { now, secrets, failures, logMessage }: RefusalContext,
): ApiError {
  const reported = readError(text);
  const status = effectiveStatus({ ...reported, status: given }, failures);
  const scrubbed = scrub(reported.message, secrets);
  const missed = guaranteeErrors.find((code) => status >= 500 && code === reported.code);
  if (missed) return new ApiError(missed, scrubbed);
  const requestError =
    status >= 500 ? requestErrors.find(([pattern]) => pattern.test(reported.message))?.[1] : undefined;
  // llama-server reports template errors with either status.
  const refusal = status >= 500 || requestStatuses.has(status) ? systemRefusal(reported.message) : undefined;
  const isShown = requestError !== undefined || refusal !== undefined || requestStatuses.has(status);
  if (!isShown) logMessage(status, scrubbed);
  const tail = `(status ${status})${isShown && scrubbed ? `: ${scrubbed}` : '.'}`;
  if (requestError) return requestError(tail);
  if (refusal) return new SystemPlacementError(tail, refusal === 'everywhere');
  const own = !isShown && scrubbed !== '' && { upstreamMessage: scrubbed };
  const retryAfter = retryAfterSeconds(headers['retry-after'], now);
  if (status === 429 || status === 503 || status === 529)
    return new ApiError('engine_overloaded', `The model's server takes no more requests at present ${tail}`, {
      ...own,
      blame: status === 429 ? { ...unavailable, scope: 'model' } : unavailable,
      ...(retryAfter !== undefined && { retryAfter }),
    });
  if (status === 401 || status === 402 || status === 403)
    return new ApiError('upstream_error', `The model's server refuses this service (status ${status}).`, {
      // Only a 401 is certainly about the key: credit may suffice for a shorter answer, and rights for another prompt.
      // Models are listed without credit, so probes do not show a 402.
      blame: { scope: 'account', certain: status === 401, retry: true, hidden: status === 402 },
      shouldRetry: false,
    });
  if (status === 408 || status === 504)
    return new ApiError('upstream_timeout', `The model's server gave up waiting ${tail}`, { ...own });
  if (status >= 300 && status < 400)
    return new ApiError('upstream_error', `The model's server redirects (status ${status}).`, {
      blame: unavailable,
      shouldRetry: false,
    });
  if (status >= 400 && status < 500) return refused(reported, status, tail);
  return new ApiError('upstream_error', `The model's server failed ${tail}`, { ...own });
}

/** Codes of another Offpeak after its own retries: the request failed, its server works. */
const guaranteeErrors = ['tool_not_called', 'schema_not_met'] as const;

/** Request fields that validation errors name. */
const fields =
  'response_format|tools|tool_choice|messages|prompt|input|stop|seed|temperature|top_p|max_tokens|max_completion_tokens|logit_bias|logprobs|top_logprobs|n';

/** Messages about the request or its answer that servers send with a 5xx (llama-server, llama-cpp-python). */
const requestErrors: readonly [RegExp, (tail: string) => ApiError][] = [
  [/'loc': \('body', |"loc": ?\["body", ?|^body\.\w/, refusedField],
  [new RegExp(`validation errors? for (?!\\w*Response\\b)\\w+\\s+(?:${fields})\\b`), refusedField],
  [/Input should be '\w+'(?:,| or) .*'json_(?:object|schema)'/, refusedField],
  [/is too large to process/, tooLong],
  // A server without the option or model for it: llama-server and vLLM answer with a 501.
  [/ input is not supported|does not support (?:the )?(?:embeddings|rerank|score)/i, refusedField],
  [
    /^The model produced output that does not match the expected \S+ format|^Failed to parse input at pos \d/,
    unreadable,
  ],
  [/This server does not support completions\. Start it without `--embeddings`/, noChat],
];

function tooLong(tail: string): ApiError {
  return new ApiError('context_length_exceeded', `The request does not fit the model's context ${tail}`);
}

/** Error of a working server that could not parse its model's output. At temperature 0 it happens again. */
function unreadable(tail: string): ApiError {
  const message = `The model's server could not read the answer of its model ${tail}`;
  return new ApiError('invalid_upstream_response', message, { blame: transient });
}

function refusedField(tail: string): ApiError {
  return new ApiError('request_refused', `The model's server refused the request ${tail}`);
}

function refused(reported: UpstreamError, status: number, tail: string): ApiError {
  if (isContextLength(reported)) return tooLong(tail);
  if (isUnknownModel(reported, status)) return noModel(tail);
  if (requestStatuses.has(status)) return refusedField(tail);
  if (absentStatuses.has(status)) return new AbsentError(tail);
  const message = `The model's server refused the request ${tail}`;
  return new ApiError('upstream_error', message, { blame: permanent, shouldRetry: false });
}

export function noModel(tail: string): ApiError {
  return new ApiError('model_not_found', `The model's server does not have the model ${tail}`, {
    blame: { scope: 'model', certain: true, retry: true },
  });
}

/** Error of a chat request to a server that only embeds with the model. */
export function noChat(tail: string): ApiError {
  const message = `The server of this model supports only embeddings, not text generation ${tail}`;
  return new ApiError('model_not_found', message, { param: 'model', blame: permanent });
}

/** Error for a missing endpoint. The whole server may be missing: proxies answer 404 during a rollout. */
export class AbsentError extends ApiError {
  /** Status and message, to append to other sentences. */
  readonly tail: string;

  constructor(tail: string) {
    const message = `The model's server refused the request ${tail}`;
    super('upstream_error', message, { blame: ambiguous, shouldRetry: false });
    this.tail = tail;
  }
}

/** Statuses for requests with unsupported content. Any other 4xx is between the server and Offpeak. */
const requestStatuses = new Set([400, 413, 422]);
const absentStatuses = new Set([404, 405, 410]);

/**
 * Reads an error body in any common shape: `{error: {message}}`, `{error: "text"}`, `{message}`,
 * `{detail: "text" | [{loc, msg}]}`, or plain text. An HTML page has no message.
 */
export function readError(text: string): UpstreamError {
  const value = parseOrUndefined(text);
  if (value === undefined) {
    const message = text.trimStart().startsWith('<') ? '' : text;
    return { message, code: '', type: '' };
  }
  // Gemini wraps its error in a list.
  const body = Array.isArray(value) && fieldsOf(value[0])['error'] !== undefined ? value[0] : value;
  const outer = fieldsOf(body);
  const inner = typeof outer['error'] === 'object' ? fieldsOf(outer['error']) : outer;
  const candidates = [inner['message'], outer['error'], outer['message'], outer['detail'], body];
  const message = candidates.map(toSentence).find((sentence) => sentence !== '') ?? '';
  return { message, code: toWord(inner['code']), type: toWord(inner['type']) };
}

function toSentence(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .slice(0, 5)
    .map((item) => {
      const { loc, msg } = fieldsOf(item);
      return Array.isArray(loc) ? `${loc.join('.')}: ${toWord(msg)}` : toWord(msg);
    })
    .join('; ');
}

function toWord(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

const contextWords =
  /context (length|size|window)|maximum (model )?length|max_model_len|prompt is too long|too many tokens|exceeds? the (available )?context|longer than the model/i;

function isContextLength({ code, type, message }: UpstreamError): boolean {
  const names = ['context_length_exceeded', 'exceed_context_size_error'];
  return names.includes(code) || names.includes(type) || contextWords.test(message);
}

function isUnknownModel({ code, type, message }: UpstreamError, status: number): boolean {
  if (code === 'model_not_found' || code === 'DeploymentNotFound') return true;
  if (type === 'not_found_error' && message.startsWith('model:')) return true;
  return (
    status === 404 && /model/i.test(message) && /not found|does not exist|unknown|not loaded/i.test(message)
  );
}

import type { IncomingHttpHeaders } from 'node:http';
import { fieldsOf, parseOrUndefined } from '../../../base/fields.ts';
import { ApiError, unavailable, permanent, transient, ambiguous } from '../../../core/errors.ts';
import { type FailureRule, effectiveStatus } from './failure-rules.ts';
import { retryAfterSeconds } from './retry-after.ts';
import { SystemPlacementError, systemRefusal } from './system-refusal.ts';
import { scrub } from './scrub.ts';

export interface Refusal {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body as text, whatever it is. */
  text: string;
}

export interface RefusalContext {
  /** Epoch milliseconds, for `retry-after` dates. */
  now: number;
  secrets: readonly string[];
  /** What this kind of server tells in a way of its own. */
  failures?: readonly FailureRule[] | undefined;
  /** Takes what the upstream said and no client is told, fit to be logged. */
  note: (status: number, words: string) => void;
}

/**
 * What a status other than 2xx means for the caller and for a batch (reliability.md, F18 to F22). The upstream's own
 * sentence is told where the request itself was at fault; in any other it speaks of itself, to whoever runs it.
 */
export function errorForStatus(
  { status: given, headers, text }: Refusal,
  { now, secrets, failures, note }: RefusalContext,
): ApiError {
  const said = readError(text);
  const status = effectiveStatus({ ...said, status: given }, failures);
  const words = scrub(said.message, secrets);
  const missed = missedPromises.find((code) => status >= 500 && code === said.code);
  if (missed) return new ApiError(missed, words);
  const fault =
    status >= 500 ? faultsOfRequests.find(([pattern]) => pattern.test(said.message))?.[1] : undefined;
  // Templates fail with either status (llama-server).
  const refusal = status >= 500 || aboutTheRequest.has(status) ? systemRefusal(said.message) : undefined;
  const isTold = fault !== undefined || refusal !== undefined || aboutTheRequest.has(status);
  if (!isTold) note(status, words);
  const tail = `(status ${status})${isTold && words ? `: ${words}` : '.'}`;
  if (fault) return fault(tail);
  if (refusal) return new SystemPlacementError(tail, refusal === 'everywhere');
  const own = !isTold && words !== '' && { upstreamMessage: words };
  const retryAfter = retryAfterSeconds(headers['retry-after'], now);
  if (status === 429 || status === 503 || status === 529)
    return new ApiError('engine_overloaded', `The model's server takes no more requests at present ${tail}`, {
      ...own,
      blame: status === 429 ? { ...unavailable, scope: 'model' } : unavailable,
      ...(retryAfter !== undefined && { retryAfter }),
    });
  if (status === 401 || status === 402 || status === 403)
    return new ApiError('upstream_error', `The model's server refuses this service (status ${status}).`, {
      // The key is nobody's but ours; credit may have sufficed for a shorter answer, and rights for another prompt.
      // Models are listed without credit, too.
      blame: { scope: 'account', certain: status === 401, retry: true, hidden: status === 402 },
      shouldRetry: false,
    });
  if (status === 408 || status === 504)
    return new ApiError('upstream_timeout', `The model's server gave up waiting ${tail}`, { ...own });
  if (status >= 300 && status < 400)
    return new ApiError('upstream_error', `The model's server points elsewhere (status ${status}).`, {
      blame: unavailable,
      shouldRetry: false,
    });
  if (status >= 400 && status < 500) return refused(said, status, tail);
  return new ApiError('upstream_error', `The model's server failed ${tail}`, { ...own });
}

/** What another Offpeak says once it has asked as often as we would: the request's failure, its server works. */
const missedPromises = ['tool_not_called', 'schema_not_met'] as const;

/** Fields of requests, as a validation of one names them. */
const fields =
  'response_format|tools|tool_choice|messages|prompt|input|stop|seed|temperature|top_p|max_tokens|max_completion_tokens|logit_bias|logprobs|top_logprobs|n';

/** Messages about the request or its answer that a server sends with a 5xx (llama-server, llama-cpp-python). */
const faultsOfRequests: readonly [RegExp, (tail: string) => ApiError][] = [
  [/'loc': \('body', |"loc": ?\["body", ?|^body\.\w/, refusedField],
  [new RegExp(`validation errors? for (?!\\w*Response\\b)\\w+\\s+(?:${fields})\\b`), refusedField],
  [/Input should be '\w+'(?:,| or) .*'json_(?:object|schema)'/, refusedField],
  [/is too large to process/, tooLong],
  [/ input is not supported|does not support embeddings/, refusedField],
  [
    /^The model produced output that does not match the expected \S+ format|^Failed to parse input at pos \d/,
    unreadable,
  ],
  [/This server does not support completions\. Start it without `--embeddings`/, noChat],
];

function tooLong(tail: string): ApiError {
  return new ApiError('context_length_exceeded', `The request does not fit the model's context ${tail}`);
}

/** The server works: it could not read what its model wrote for this request. At temperature 0 that is the same again. */
function unreadable(tail: string): ApiError {
  const words = `The model's server could not read the answer of its model ${tail}`;
  return new ApiError('invalid_upstream_response', words, { blame: transient });
}

function refusedField(tail: string): ApiError {
  return new ApiError('request_refused', `The model's server refused the request ${tail}`);
}

function refused(said: UpstreamError, status: number, tail: string): ApiError {
  if (isContextLength(said)) return tooLong(tail);
  if (isUnknownModel(said, status)) return noModel(tail);
  if (aboutTheRequest.has(status)) return refusedField(tail);
  if (absent.has(status)) return new AbsentError(tail);
  const words = `The model's server refused the request ${tail}`;
  return new ApiError('upstream_error', words, { blame: permanent, shouldRetry: false });
}

export function noModel(tail: string): ApiError {
  return new ApiError('model_not_found', `The model's server does not have the model ${tail}`, {
    blame: { scope: 'model', certain: true, retry: true },
  });
}

/** What stands for an answer of a server that only embeds with the model. */
export function noChat(tail: string): ApiError {
  const told = `The server of this model answers nothing with it, it only makes embeddings ${tail}`;
  return new ApiError('model_not_found', told, { param: 'model', blame: permanent });
}

/** What was asked for is not there: the call, or the whole server, for a proxy answers so while that is rolled out. */
export class AbsentError extends ApiError {
  /** What is told at the end of any sentence about it. */
  readonly tail: string;

  constructor(tail: string) {
    const words = `The model's server refused the request ${tail}`;
    super('upstream_error', words, { blame: ambiguous, shouldRetry: false });
    this.tail = tail;
  }
}

/** What servers answer to a field they do not take. Any other 4xx is between them and us. */
const aboutTheRequest = new Set([400, 413, 422]);
const absent = new Set([404, 405, 410]);

export interface UpstreamError {
  message: string;
  code: string;
  type: string;
}

/**
 * The error in a body, in any of the shapes servers use: `{error: {message}}`, `{error: "text"}`, `{message}`,
 * `{detail: "text" | [{loc, msg}]}`, plain text. An HTML page says nothing.
 */
export function readError(text: string): UpstreamError {
  const told = parseOrUndefined(text);
  if (told === undefined) {
    const message = text.trimStart().startsWith('<') ? '' : text;
    return { message, code: '', type: '' };
  }
  // Gemini answers with a list of one.
  const body = Array.isArray(told) && fieldsOf(told[0])['error'] !== undefined ? told[0] : told;
  const outer = fieldsOf(body);
  const inner = typeof outer['error'] === 'object' ? fieldsOf(outer['error']) : outer;
  const candidates = [inner['message'], outer['error'], outer['message'], outer['detail'], body];
  const message = candidates.map(sentence).find((found) => found !== '') ?? '';
  return { message, code: word(inner['code']), type: word(inner['type']) };
}

function sentence(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .slice(0, 5)
    .map((item) => {
      const { loc, msg } = fieldsOf(item);
      return Array.isArray(loc) ? `${loc.join('.')}: ${word(msg)}` : word(msg);
    })
    .join('; ');
}

function word(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

const contextWords =
  /context (length|size|window)|maximum (model )?length|max_model_len|prompt is too long|too many tokens|exceeds? the (available )?context|longer than the model/i;

function isContextLength({ code, type, message }: UpstreamError): boolean {
  const names = ['context_length_exceeded', 'exceed_context_size_error'];
  return names.includes(code) || names.includes(type) || contextWords.test(message);
}

function isUnknownModel({ code, type, message }: UpstreamError, status: number): boolean {
  if (
    code === 'model_not_found' ||
    code === 'DeploymentNotFound' ||
    (type === 'not_found_error' && message.startsWith('model:'))
  )
    return true;
  return (
    status === 404 && /model/i.test(message) && /not found|does not exist|unknown|not loaded/i.test(message)
  );
}

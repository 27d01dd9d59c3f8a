import type { Words } from '../base/words.ts';

/**
 * All errors that clients can receive. Each code has one status; `wire/errors/` chooses the `type` of each wire format. A test
 * compares the codes with `docs/errors.md`.
 */
export const errorCatalog = {
  // the request as a whole
  malformed_request: { status: 400, kind: 'invalid' },
  duplicate_authorization: { status: 400, kind: 'invalid' },
  duplicate_header: { status: 400, kind: 'invalid' },
  websocket_connection_limit_reached: { status: 400, kind: 'invalid' },
  context_length_exceeded: { status: 400, kind: 'invalid' },
  request_refused: { status: 400, kind: 'invalid' },
  invalid_api_key: { status: 401, kind: 'authentication' },
  session_ended: { status: 401, kind: 'authentication' },
  budget_exceeded: { status: 402, kind: 'quota' },
  storage_quota_exceeded: { status: 402, kind: 'quota' },
  permission_denied: { status: 403, kind: 'permission' },
  foreign_origin: { status: 403, kind: 'permission' },
  org_disabled: { status: 403, kind: 'permission' },
  model_not_allowed: { status: 403, kind: 'permission' },
  not_found: { status: 404, kind: 'missing' },
  previous_response_not_found: { status: 404, kind: 'missing' },
  model_not_found: { status: 404, kind: 'missing' },
  thread_not_found: { status: 404, kind: 'missing' },
  method_not_allowed: { status: 405, kind: 'invalid' },
  request_timeout: { status: 408, kind: 'timeout' },
  batch_not_cancellable: { status: 409, kind: 'conflict' },
  batch_not_changeable: { status: 409, kind: 'conflict' },
  batch_not_pausable: { status: 409, kind: 'conflict' },
  batch_not_finished: { status: 409, kind: 'conflict' },
  nothing_to_retry: { status: 409, kind: 'conflict' },
  file_in_use: { status: 409, kind: 'conflict' },
  response_not_cancellable: { status: 409, kind: 'conflict' },
  too_many_webhooks: { status: 409, kind: 'conflict' },
  webhook_disabled: { status: 409, kind: 'conflict' },
  key_not_active: { status: 409, kind: 'conflict' },
  key_replaced: { status: 409, kind: 'conflict' },
  own_admin_scope: { status: 409, kind: 'conflict' },
  no_secrets_key: { status: 409, kind: 'conflict' },
  older_server: { status: 409, kind: 'conflict' },
  payload_too_large: { status: 413, kind: 'invalid' },
  unsupported_media_type: { status: 415, kind: 'invalid' },
  range_not_satisfiable: { status: 416, kind: 'invalid' },
  validation_error: { status: 422, kind: 'invalid' },
  idempotency_mismatch: { status: 422, kind: 'invalid' },
  // a file or one of its lines
  invalid_json_line: { status: 422, kind: 'invalid' },
  invalid_encoding: { status: 422, kind: 'invalid' },
  empty_file: { status: 422, kind: 'invalid' },
  too_many_tasks: { status: 422, kind: 'invalid' },
  line_too_long: { status: 422, kind: 'invalid' },
  too_deep: { status: 422, kind: 'invalid' },
  duplicate_key: { status: 422, kind: 'invalid' },
  duplicate_custom_id: { status: 422, kind: 'invalid' },
  url_mismatch: { status: 422, kind: 'invalid' },
  window_too_short: { status: 422, kind: 'invalid' },
  // schemas
  schema_too_complex: { status: 422, kind: 'invalid' },
  unsupported_keyword: { status: 422, kind: 'invalid' },
  // limits
  rate_limit_exceeded: { status: 429, kind: 'rate' },
  resource_unavailable: { status: 429, kind: 'rate' },
  queued_requests_exceeded: { status: 429, kind: 'rate' },
  queued_tokens_exceeded: { status: 429, kind: 'rate' },
  headers_too_large: { status: 431, kind: 'invalid' },
  // engines
  schema_not_met: { status: 502, kind: 'server' },
  tool_not_called: { status: 502, kind: 'server' },
  invalid_upstream_response: { status: 502, kind: 'server' },
  upstream_error: { status: 502, kind: 'server' },
  upstream_unreachable: { status: 502, kind: 'server' },
  poison_request: { status: 502, kind: 'server' },
  engine_overloaded: { status: 503, kind: 'overloaded' },
  shutting_down: { status: 503, kind: 'overloaded' },
  upstream_timeout: { status: 504, kind: 'server' },
  // lines that never ran
  batch_cancelled: { status: 409, kind: 'conflict' },
  batch_expired: { status: 409, kind: 'conflict' },
  batch_failed: { status: 409, kind: 'conflict' },
  // ours
  internal_error: { status: 500, kind: 'server' },
  storage_damaged: { status: 500, kind: 'server' },
  server_overloaded: { status: 503, kind: 'overloaded' },
  storage_unavailable: { status: 503, kind: 'overloaded' },
  insufficient_storage: { status: 507, kind: 'server' },
} as const satisfies Record<string, { status: number; kind: ErrorKind }>;

/** Origin of a failure, which decides what pauses: only the request, the replica, all replicas of the model, or the upstream account. */
export type BlameScope = 'request' | 'replica' | 'model' | 'account';

export interface Blame {
  scope: BlameScope;
  /** False if other requests must show the origin: a 502 or reset can be due to the server or the request. */
  certain: boolean;
  /** True if another attempt of the request may succeed. */
  retry: boolean;
  /** True if health checks can succeed all the same, so that only a request shows recovery. */
  hidden?: boolean;
}

/** Failure of the request that every retry repeats. */
export const permanent: Blame = { scope: 'request', certain: true, retry: false };
/** Failure of the request that a retry may avoid. */
export const transient: Blame = { scope: 'request', certain: true, retry: true };
/** Failure of the replica; the request did not run. */
export const unavailable: Blame = { scope: 'replica', certain: true, retry: true };
/** Failure of the replica or the request. */
export const ambiguous: Blame = { scope: 'replica', certain: false, retry: true };

const blameByCode: Partial<Record<ErrorCode, Blame>> = {
  upstream_error: ambiguous,
  invalid_upstream_response: ambiguous,
  upstream_timeout: ambiguous,
  internal_error: transient,
  upstream_unreachable: unavailable,
  engine_overloaded: unavailable,
  shutting_down: unavailable,
  insufficient_storage: unavailable,
  server_overloaded: unavailable,
  storage_unavailable: unavailable,
};

export type ErrorKind =
  Words<'invalid authentication quota permission missing timeout conflict rate overloaded server'>;

export type ErrorCode = keyof typeof errorCatalog;

/** One of several validation errors. */
export interface Fault {
  /** 1-based line number in the file. */
  line?: number;
  custom_id?: string;
  /** Field path such as `body.messages[0].role`. */
  param?: string;
  code: ErrorCode;
  message: string;
}

export interface ApiErrorOptions {
  param?: string | null;
  /** Validation errors, at most 100. */
  faults?: Fault[];
  /** Errors inside a file or batch result in a 422, whatever the code: an unknown model on line 17 is not a 404. */
  status?: 422;
  /** Seconds for `retry-after`. */
  retryAfter?: number;
  /** False tells SDKs not to retry. */
  shouldRetry?: boolean;
  /** `allow` header of a 405. */
  allow?: string;
  /** `content-range` header of a 416. */
  contentRange?: string;
  /** Overrides the attribution of the code. */
  blame?: Blame;
  /** Message of the upstream, scrubbed. Shown in `waiting.message`, and in a line's error after it came twice. */
  upstreamMessage?: string;
  /** Internal cause, for the log only. */
  cause?: unknown;
}

/** Error shown to clients; any other error becomes `internal_error`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly kind: ErrorKind;
  readonly param: string | null;
  readonly faults: Fault[];
  readonly retryAfter: number | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly allow: string | undefined;
  readonly contentRange: string | undefined;
  readonly blame: Blame;
  readonly upstreamMessage: string | undefined;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? errorCatalog[code].status;
    this.kind = options.status === 422 ? 'invalid' : errorCatalog[code].kind;
    this.param = options.param ?? null;
    this.faults = options.faults ?? [];
    this.retryAfter = options.retryAfter;
    this.shouldRetry = options.shouldRetry ?? (this.status === 409 ? false : undefined);
    this.allow = options.allow;
    this.contentRange = options.contentRange;
    this.blame = options.blame ?? blameByCode[code] ?? permanent;
    this.upstreamMessage = options.upstreamMessage;
  }
}

/**
 * True if another replica or model may answer the request. After a timeout the caller has no time left, unless the server is
 * known to hang.
 */
export function isWorthRetryingElsewhere(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.blame.scope === 'request') return false;
  return error.code !== 'upstream_timeout' || error.blame.certain;
}

/** A 422 for one field. */
export function invalid(param: string, message: string, code: ErrorCode = 'validation_error'): ApiError {
  return new ApiError(code, `${param}: ${message}`, { param, faults: [{ param, code, message }] });
}

/** Resources that clients address by id. */
export type ResourceName =
  | 'batch'
  | 'line'
  | 'action'
  | 'file'
  | 'key'
  | 'org'
  | 'response'
  | 'conversation'
  | 'chat completion'
  | 'webhook'
  | 'delivery'
  | 'replica';

/** Error for an unknown id and for another org's id alike. */
export function notFound(what: ResourceName): ApiError {
  return new ApiError('not_found', `No such ${what}.`);
}

/** End of the requests and streams of a server that stops. */
export function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is shutting down.', { retryAfter: 1 });
}

export function idempotencyMismatch(): ApiError {
  return new ApiError('idempotency_mismatch', 'This Idempotency-Key was used with another body.');
}

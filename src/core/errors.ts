/**
 * The one catalogue of errors a client can meet (api.md, section 2). Each code has one status; the `type` a client
 * sees depends on the wire format and is chosen in `wire/errors/`. `docs/errors.md` lists the same codes; a test
 * holds the two together.
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
  budget_exceeded: { status: 402, kind: 'quota' },
  storage_quota_exceeded: { status: 402, kind: 'quota' },
  permission_denied: { status: 403, kind: 'permission' },
  model_not_allowed: { status: 403, kind: 'permission' },
  not_found: { status: 404, kind: 'missing' },
  previous_response_not_found: { status: 404, kind: 'missing' },
  model_not_found: { status: 404, kind: 'missing' },
  thread_not_found: { status: 404, kind: 'missing' },
  method_not_allowed: { status: 405, kind: 'invalid' },
  request_timeout: { status: 408, kind: 'timeout' },
  batch_not_cancellable: { status: 409, kind: 'conflict' },
  batch_not_pausable: { status: 409, kind: 'conflict' },
  batch_not_finished: { status: 409, kind: 'conflict' },
  nothing_to_retry: { status: 409, kind: 'conflict' },
  file_in_use: { status: 409, kind: 'conflict' },
  response_not_cancellable: { status: 409, kind: 'conflict' },
  too_many_webhooks: { status: 409, kind: 'conflict' },
  webhook_disabled: { status: 409, kind: 'conflict' },
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
  // schemas
  schema_too_complex: { status: 422, kind: 'invalid' },
  unsupported_keyword: { status: 422, kind: 'invalid' },
  // limits
  rate_limit_exceeded: { status: 429, kind: 'rate' },
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

/**
 * Whose failure it is, and so who has to wait for it to pass: this request alone (others go on), the server that was asked
 * (another one of the model may do), the model, or our account there.
 */
export type BlameScope = 'request' | 'replica' | 'model' | 'account';

/** What one failure tells of itself. */
export interface Blame {
  scope: BlameScope;
  /**
   * Whether this one answer tells. A 502 or a reset may be the server's or this request's: only what becomes of other
   * requests shows which.
   */
  certain: boolean;
  /** Of a request's own failure: whether another attempt may end otherwise. */
  retry: boolean;
  /** Whether a server that is asked how it is may say that it is well all the same: then only requests tell. */
  hidden?: boolean;
}

/** The request's, and the same again however often it is asked. */
export const permanent: Blame = { scope: 'request', certain: true, retry: false };
/** The request's, as far as one can tell, and perhaps not the next time. */
export const transient: Blame = { scope: 'request', certain: true, retry: true };
/** The server's, for certain: nothing was done, and others wait as well. */
export const unavailable: Blame = { scope: 'replica', certain: true, retry: true };
/** The server's or the request's. */
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
  | 'invalid'
  | 'authentication'
  | 'quota'
  | 'permission'
  | 'missing'
  | 'timeout'
  | 'conflict'
  | 'rate'
  | 'overloaded'
  | 'server';

export type ErrorCode = keyof typeof errorCatalog;

/** One fault among several: where it is and what was expected. Absent fields are not known. */
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
  /** The faults found, at most 100 of them (api.md, section 2). */
  faults?: Fault[];
  /** A fault inside a file or batch is a 422 whatever its code says: an unknown model on line 17 is no 404. */
  status?: 422;
  /** Seconds for `retry-after`. */
  retryAfter?: number;
  /** False tells SDKs not to repeat a request that cannot succeed. */
  shouldRetry?: boolean;
  /** For the methods of a 405. */
  allow?: string;
  /** For the size of what a 416 asked a range of. */
  contentRange?: string;
  /** Where the code alone does not tell: an upstream's 415 is the request's, its 401 our account's. */
  blame?: Blame;
  /** The upstream's own message, scrubbed. Shown in `waiting.message`, and in a line's error once it came twice. */
  upstreamMessage?: string;
  /** What happened inside, for the log alone. */
  cause?: unknown;
}

/** An error a client may see. Everything else that is thrown becomes `internal_error`. */
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
 * Whether another server, or another model, may answer what failed here. One that did not answer in time has taken the
 * caller's time already, unless it hangs for certain.
 */
export function isWorthRetryingElsewhere(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.blame.scope === 'request') return false;
  return error.code !== 'upstream_timeout' || error.blame.certain;
}

/** A 422 for one field. */
export function invalid(param: string, message: string, code: ErrorCode = 'validation_error'): ApiError {
  return new ApiError(code, `${param}: ${message}`, { param, faults: [{ param, code, message }] });
}

/** What has an id of ours that clients name. */
export type ResourceName =
  | 'batch'
  | 'file'
  | 'key'
  | 'org'
  | 'response'
  | 'conversation'
  | 'chat completion'
  | 'webhook'
  | 'delivery';

/** The answer to an unknown id and to another org's id: the same bytes (api.md, section 2). */
export function notFound(what: ResourceName): ApiError {
  return new ApiError('not_found', `No such ${what}.`);
}

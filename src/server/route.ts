import type { IncomingHttpHeaders } from 'node:http';
import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { IdPrefix } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Batches } from '../batches/batches.ts';
import type { Actor } from '../core/audit.ts';
import type { CallTrace } from '../core/call-trace.ts';
import type { ResourceName } from '../core/errors.ts';
import type { BatchRules } from '../core/batch.ts';
import type { FieldWarning } from '../core/field-warning.ts';
import type { Catalog } from '../core/model.ts';
import type { Caller, KeyScope } from '../core/org.ts';
import type { RateState } from '../core/rates.ts';
import type { Webhooks } from '../events/webhooks.ts';
import type { Files } from '../files/files.ts';
import type { Capacity } from '../inference/capacity.ts';
import type { Inference, InteractiveCall } from '../inference/inference.ts';
import type { Peers } from '../inference/peers.ts';
import type { LimitReport } from '../limits/limit-report.ts';
import type { Controls } from '../operator/controls.ts';
import type { Responses } from '../responses/responses.ts';
import type { Answer } from './answer/answer.ts';
import type { Schema } from '../wire/schema/schema.ts';
import type { QueryDocs } from './openapi/query-schemas.ts';
import type { RecentRequests } from './plugins/recent-requests.ts';
import type { FormPart } from './request/read-form.ts';
import type { Surface } from './surface.ts';

/** Services that route handlers call. */
export interface Services {
  files: Files;
  batches: Batches;
  inference: Inference;
  capacity: Pick<Capacity, 'discoveredSlots' | 'replicas' | 'sharedModels' | 'slots'>;
  /** Models that this process serves. */
  catalog: Catalog;
  peers: Peers;
  responses: Responses;
  webhooks: Webhooks;
  accounts: Accounts;
  recentRequests: RecentRequests;
  controls: Controls;
  limitReport: LimitReport;
  clock: Clock;
  log: Log;
  limits: ServerLimits;
  /** The first is `/v1`. */
  surfaces: readonly [Surface, ...Surface[]];
  /** True if unknown fields of requests are faults. */
  strictFields: boolean;
  /** Readiness: whether this process can serve requests. */
  /** `warning`: what the installation lacks although this process is ready. */
  ready: () => Promise<{ ok: boolean; reason?: string; warning?: string }>;
  version: string;
  /** OpenAPI document, as JSON text. */
  openapi: () => string;
}

/** Route as the server mounts it. Key, scope and the format of the id are checked before `handle` runs. */
export interface MountedRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with `:name` parameters, or a final `*` for a parameter with slashes. A GET route answers HEAD too. */
  path: string;
  /** Path of the route at `/v1`, if it differs. */
  endpoint?: string;
  /** Surface that has the route; `/v1` if absent. */
  surface?: Surface;
  /** Required scope; `key` accepts any key, `open` needs none. */
  access: KeyScope | 'key' | 'open';
  /** Kind of id in the path. A malformed id is answered with 404, without a look-up. */
  id?: { prefix: IdPrefix; what: ResourceName };
  /** Accepted body. A JSON body is read before `handle` runs; an absent `optional` one is `{}`. */
  body?: 'multipart' | { maxBytes: MaxBytes; optional?: boolean };
  handle(incoming: Incoming, services: Services): Promise<Answer>;
}

/** API operation as data, shared by the server, the OpenAPI document and the tests. */
export interface Route extends MountedRoute {
  docs: RouteDocs;
}

/** Description of a route in the OpenAPI document. */
export interface RouteDocs {
  /** Name of the operation, such as `Create Batch`. */
  name: string;
  summary: string;
  tag:
    | 'Batches'
    | 'Message batches'
    | 'Files'
    | 'Generation'
    | 'Responses'
    | 'Conversations'
    | 'Chat Completions'
    | 'Models'
    | 'Webhooks'
    | 'Usage'
    | 'Admin'
    | 'Server';
  query?: QueryDocs;
  body?: Schema;
  optionalBody?: true;
  answer: {
    status: 200 | 201;
    type: 'application/json' | 'application/jsonl' | 'application/octet-stream' | 'text/event-stream';
    schema?: Schema;
  };
  /** Alternative content type, selected by the `Accept` header. */
  orType?: 'text/csv';
  /** Alternative success, selected by the body. */
  otherAnswer?: { status: 200; description: string; schema: Schema };
}

/** Size limit of a body, on a surface with these rules. */
export type MaxBytes = (limits: ServerLimits, rules: BatchRules) => number;

export interface ServerLimits {
  /** Largest JSON body of one synchronous request. */
  bodyBytes: number;
  /** Total size of the request bodies held in memory at a time. */
  bodyBytesInFlight: number;
  connections: number;
  connectionsPerAddress: number;
  /** Requests per second of one address without a valid key. */
  anonymousPerSecond: number;
}

/** Request as a handler sees it. */
export interface Incoming {
  /** `req_...` */
  requestId: string;
  /** Path of the route at `/v1`, whatever the surface. */
  endpoint: string;
  surface: Surface;
  /** On an open route: a caller with empty ids and no scopes. */
  caller: Caller;
  /** Address of the client; null if a trusted proxy does not report it. */
  address: string | null;
  method: string;
  /** Decoded path parameter, or ''. */
  param: string;
  secondParam: string;
  /** Query parameters: a string each, or an array where one is repeated. */
  query: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  /** Start of the request, in epoch milliseconds. */
  startedAt: number;
  /**
   * JSON body as received; empty without a body. `sha256` is lower-case hex.
   * @throws ApiError `invalid_encoding` from `text` and `utf8`
   */
  body: { readonly text: string; utf8(): Uint8Array; sha256(): Promise<string> };
  /** Parts of a multipart body, in order. */
  form(): AsyncIterable<FormPart>;
  /**
   * Sets the number of bytes of a multipart body that the handler holds in memory.
   * @throws ApiError `server_overloaded`
   */
  reserveBytes: (bytes: number) => void;
  /**
   * Authenticates the key again, for work long after the start of the request.
   * @throws ApiError when the key was revoked or has expired
   */
  recheck: () => Promise<void>;
  /** Sets the model for the `x-offpeak-model` header. Has no effect once the answer has begun. */
  onModel: (model: string) => void;
  /** Adds a header about unknown fields. */
  onWarnings: (warnings: readonly FieldWarning[]) => void;
  /** Adds headers about the rate limits. Has no effect once the answer has begun. */
  onRates: (rates: readonly RateState[]) => void;
  /** Details of the engine call, for the log. */
  trace: CallTrace;
  /** Aborts when the client disconnects or the server shuts down. */
  signal: AbortSignal;
}

/** Engine call on behalf of the client of a request. */
export function interactiveCall(incoming: Incoming, metadata?: unknown): InteractiveCall {
  const { caller, requestId, endpoint, signal, onModel, onRates, trace } = incoming;
  return { caller, requestId, endpoint, metadata, signal, onModel, onRates, trace };
}

/** Caller of a request, for the audit log. */
export function actorOf({ caller, requestId, address }: Incoming): Actor {
  return { keyId: caller.keyId, name: caller.keyName ?? '', address, requestId };
}

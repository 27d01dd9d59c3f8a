import type { IncomingHttpHeaders } from 'node:http';
import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { IdPrefix } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Batches } from '../batches/batches.ts';
import type { CallTrace } from '../core/call-trace.ts';
import type { ResourceName } from '../core/errors.ts';
import type { DateForm } from '../core/batch.ts';
import type { Catalog } from '../core/model.ts';
import type { Caller, KeyScope } from '../core/org.ts';
import type { Webhooks } from '../events/webhooks.ts';
import type { Files } from '../files/files.ts';
import type { Capacity } from '../inference/capacity.ts';
import type { Inference, InteractiveCall } from '../inference/inference.ts';
import type { Peers } from '../inference/peers.ts';
import type { Responses } from '../responses/responses.ts';
import type { Answer } from './answer.ts';
import type { Schema } from '../wire/schema/schema.ts';
import type { QueryDocs } from './openapi/query-schemas.ts';
import type { FormPart } from './read-form.ts';

/** What the handlers of routes may call. */
export interface Services {
  files: Files;
  batches: Batches;
  inference: Inference;
  capacity: Pick<Capacity, 'discoveredSlots' | 'replicas' | 'slots'>;
  /** Models that this process serves. */
  catalog: Catalog;
  peers: Peers;
  responses: Responses;
  webhooks: Webhooks;
  accounts: Accounts;
  clock: Clock;
  log: Log;
  limits: ServerLimits;
  /** How batches tell their times. */
  dates: DateForm;
  /** Whether this process can do its work, beyond being alive. */
  ready: () => Promise<{ ok: boolean; reason?: string }>;
  version: string;
  /** The OpenAPI document of all routes, as JSON text. */
  openapi: () => string;
}

/** What the server mounts. Authentication, scope and the form of an id are checked before `handle` is called. */
export interface MountedRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for a parameter, or `*` at the end for a parameter with slashes. A GET answers HEAD too. */
  path: string;
  /** The scope a key needs; `key` for any key, `open` for no key at all. */
  access: KeyScope | 'key' | 'open';
  /** The parameter of the path when it is an id of ours: what is malformed is answered 404 without asking further. */
  id?: { prefix: IdPrefix; what: ResourceName };
  /** What body it takes. A JSON body is read whole before `handle`, at most so many bytes. */
  body?: 'multipart' | { maxBytes: (limits: ServerLimits) => number };
  handle(incoming: Incoming, services: Services): Promise<Answer>;
}

/** One operation of the API, as data: the server mounts it, the OpenAPI document lists it, the tests walk over it. */
export interface Route extends MountedRoute {
  docs: RouteDocs;
}

/** What the OpenAPI document tells of a route, beyond what the route itself says. */
export interface RouteDocs {
  /** The name of the operation, as in the specification: `Create Batch`. */
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
  /** The body, the same schema that validates it. */
  body?: Schema;
  /** What a success looks like: its status, and its content type. */
  answer: {
    status: 200 | 201;
    type: 'application/json' | 'application/jsonl' | 'application/octet-stream' | 'text/event-stream';
    schema?: Schema;
  };
  /** Another content type of the success, for which `accept` asks. */
  orType?: 'text/csv';
  /** Another success that the body may ask for. */
  otherAnswer?: { status: 200; description: string; schema: Schema };
}

export interface ServerLimits {
  /** Largest JSON body of one synchronous request. */
  bodyBytes: number;
  /** Largest file, and largest sum of inline requests counted as JSONL. */
  bytesPerBatch: number;
  requestsPerBatch: number;
  /** Bodies that are held at a time, together. */
  bodyBytesInFlight: number;
  connections: number;
  connectionsPerAddress: number;
}

/** A request as a handler sees it. */
export interface Incoming {
  /** `req_...` */
  requestId: string;
  /** On an open route: nobody, without scopes. */
  caller: Caller;
  method: string;
  /** The decoded parameter of the path, or ''. */
  param: string;
  /** The second one. */
  secondParam: string;
  /** Each parameter as text, a repeated one as an array. */
  query: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  /** When the request began, in epoch milliseconds. */
  startedAt: number;
  /**
   * The JSON of the body as it came, as text or as bytes, and its SHA-256; empty without a body.
   * @throws ApiError `invalid_encoding`, for the first two
   */
  body: { readonly text: string; utf8(): Uint8Array; sha256(): Promise<string> };
  /** The parts of a multipart body, in order. */
  form(): AsyncIterable<FormPart>;
  /**
   * Says how many bytes of a multipart body the handler holds in memory from now on.
   * @throws ApiError `server_overloaded`
   */
  reserveBytes: (bytes: number) => void;
  /**
   * Asks again whether the key is good, for what is done long after the request began.
   * @throws ApiError as at the beginning
   */
  recheck: () => Promise<void>;
  /** Says which model answers, before the first byte of the answer. */
  onModel: (model: string) => void;
  /** Where what becomes known of a call to an engine is written down, for the log. */
  trace: CallTrace;
  /** Aborts when the client has gone or the server stops waiting for this request. */
  signal: AbortSignal;
}

/** A request to an engine, for the client of this one. */
export function interactiveCall({
  caller,
  requestId,
  signal,
  onModel: answers,
  trace: known,
}: Incoming): InteractiveCall {
  return { caller, requestId, signal, onModel: answers, known };
}

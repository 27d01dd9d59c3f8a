import type { BatchEndpoint } from '../../core/batch.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import type { Caller } from '../../core/org.ts';
import type { ServiceTier } from '../../core/service-tier.ts';
import type { StoredResponse } from '../../core/response.ts';
import type { AnswerRows } from '../../core/stored-answer.ts';
import type { LineResponse } from '../../wire/batch/line-response.ts';
import type { IdempotencyToken } from '../../store/contract/idempotency.ts';

/** Single request that runs through the batch engine. */
export interface DurableRequest {
  endpoint: BatchEndpoint;
  /** Checked body that is not to be streamed, and its JSON text. */
  body: { value: Record<string, unknown>; text: string };
  /** `default` runs at once, at the full price; after the death of its process as `flex` does. */
  tier: ServiceTier;
  /** Has the tag of the usage. */
  metadata?: unknown;
  /** Response that it makes; `row` is stored with the request. */
  response?: LineResponse & { row?: StoredResponse };
  /** Milliseconds until it ends with `resource_unavailable`. */
  timeoutMs: number;
  /** Recognizes repeats. */
  creation: IdempotencyToken;
}

export interface SubmittedRequest {
  /** `req_<group>_<line>`. */
  id: string;
  /** True if it repeats a request, whose answer it gets. */
  replayed: boolean;
}

/** Single requests that are stored before they run, and run once, whatever process dies. */
export interface DurableRequests {
  /**
   * Stores a request, or finds the one that it repeats. Resolves once it is durable.
   * @throws ApiError as the creation of a batch: for the model, a budget, the limits of the queue; `idempotency_mismatch`
   */
  submit(caller: Caller, request: DurableRequest): Promise<SubmittedRequest>;
  /**
   * JSON text of the answer. Called in the turn in which `submit` resolves, it waits for no poll.
   * @param signal ends the wait; the request goes on
   * @param trace gets the model, the server, the time of the last attempt and the tokens
   * @throws ApiError with which the request ended
   */
  answer(request: SubmittedRequest, signal: AbortSignal, trace?: CallTrace): Promise<string>;
  /**
   * Ends a request of the org as cancelled, with the rows that are stored then. False without effect if it has ended. A process that runs it
   * ends its call within a second.
   */
  cancel(orgId: string, id: string, rows: AnswerRows): Promise<boolean>;
}

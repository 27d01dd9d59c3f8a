import type { Service } from '../base/service.ts';
import type { DurableRequest } from '../batches/requests/durable-requests.ts';
import type { Caller } from '../core/org.ts';
import type { ServiceTier } from '../core/service-tier.ts';
import type { InteractiveCall } from '../inference/inference.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { CompactedBody } from '../wire/responses/compaction.ts';
import type { ItemsQuery } from '../wire/shared/query-params.ts';
import type {
  ResponseBody,
  ResponseEvents,
  ResponsesRequest,
  StoredItem,
} from '../wire/responses/responses.ts';
import type { Conversations } from './conversations.ts';
import type { DurableCall } from './durable.ts';
import type { StoredChats } from './stored-chats.ts';
import type { ResponseSession } from './session.ts';

/**
 * Responses API: answers that are stored, read and continued. Responses of other orgs are `not_found`. Requests must be
 * checked by their wire schema before.
 *
 * Creating a response throws the errors of `Inference` with the paths of the request, and `previous_response_not_found` (404),
 * `validation_error` (422) if the conversation is too large, `storage_quota_exceeded` (402), and `rate_limit_exceeded` (429)
 * if too many requests wait.
 */
export interface Responses extends Service {
  readonly conversations: Conversations;
  readonly chats: StoredChats;
  /**
   * Returns the finished response; with `background: true` the queued one, which runs without the caller.
   * @param durable given for `background: true`, which the batch engine makes
   */
  create(
    request: JsonBody<ResponsesRequest>,
    call: InteractiveCall,
    durable?: DurableCall,
  ): Promise<ResponseBody>;
  /** Streams events. The response is stored before the last one. @param durable as for `create` */
  stream(request: JsonBody<ResponsesRequest>, call: InteractiveCall, durable?: DurableCall): ResponseEvents;
  /**
   * Prepares a request whose caller waits for the batch engine, which stores the answer: the body refers to no stored state, and the
   * quota of the answer is reserved until `release`.
   */
  durable(
    request: JsonBody<ResponsesRequest>,
    call: Pick<InteractiveCall, 'caller' | 'signal'>,
    tier: ServiceTier,
  ): Promise<Pick<DurableRequest, 'body' | 'response'> & { release: () => void }>;
  open(caller: Caller): ResponseSession;
  get(caller: Caller, id: string): Promise<ResponseBody>;
  /** Replays the events of a stored response after `startingAfter`; waits for an unfinished one. */
  events(caller: Caller, id: string, startingAfter: number, signal: AbortSignal): ResponseEvents;
  inputItems(
    caller: Caller,
    id: string,
    query: ItemsQuery,
    signal: AbortSignal,
  ): Promise<{ items: StoredItem[]; hasMore: boolean }>;
  /** Cancels a background response; idempotent. @throws ApiError `response_not_cancellable` (409) */
  cancel(caller: Caller, id: string): Promise<ResponseBody>;
  remove(caller: Caller, id: string): Promise<void>;
  /** Keeps some messages of a conversation and summarizes the rest in one item. Nothing is stored. */
  compact(request: JsonBody<ResponsesRequest>, call: InteractiveCall): Promise<CompactedBody>;
  /** Counts the tokens of the prompt, without running it. */
  countInput(
    request: JsonBody<ResponsesRequest>,
    call: Pick<InteractiveCall, 'caller' | 'signal'>,
  ): Promise<number>;
}

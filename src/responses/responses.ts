import type { Service } from '../base/service.ts';
import type { Caller } from '../core/org.ts';
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
import type { StoredChats } from './stored-chats.ts';
import type { ResponseSession } from './session.ts';

/**
 * Responses: chat completions in another form, which are kept, read back and continued. Each belongs to an org; another
 * org's is `not_found`, like one that never was. Requests are validated by their wire schema before they come here.
 *
 * Making one throws what `Inference` throws, told in the places of the request, and `previous_response_not_found` (404)
 * where a conversation to be continued is gone, `validation_error` (422) where it is too large, `storage_quota_exceeded`
 * (402) where the org stores too much, and `rate_limit_exceeded` (429) where too many wait.
 */
export interface Responses extends Service {
  readonly conversations: Conversations;
  readonly chats: StoredChats;
  /** The finished response; with `background: true` the queued one, which goes on without the caller. */
  create(request: JsonBody<ResponsesRequest>, call: InteractiveCall): Promise<ResponseBody>;
  /** Its events as they happen. It is kept before the last event is told. */
  stream(request: JsonBody<ResponsesRequest>, call: InteractiveCall): ResponseEvents;
  /** Begins a session of turns, which remembers the latest. */
  open(caller: Caller): ResponseSession;
  get(caller: Caller, id: string): Promise<ResponseBody>;
  /** The events of a stored response behind `startingAfter` once more; waits for one that is being made. */
  events(caller: Caller, id: string, startingAfter: number, signal: AbortSignal): ResponseEvents;
  inputItems(
    caller: Caller,
    id: string,
    query: ItemsQuery,
    signal: AbortSignal,
  ): Promise<{ items: StoredItem[]; hasMore: boolean }>;
  /**
   * Ends a response in the background; one that was cancelled already is answered as it is.
   * @throws ApiError `response_not_cancellable` (409)
   */
  cancel(caller: Caller, id: string): Promise<ResponseBody>;
  remove(caller: Caller, id: string): Promise<void>;
  /**
   * Sums a conversation up, as `parseCompactRequest` asks for it: what stays of it word for word, and one item for the rest.
   * Nothing is stored.
   */
  compact(request: JsonBody<ResponsesRequest>, call: InteractiveCall): Promise<CompactedBody>;
  /** Tokens of the prompt that the request comes to, without running it. */
  countInput(
    request: JsonBody<ResponsesRequest>,
    call: Pick<InteractiveCall, 'caller' | 'signal'>,
  ): Promise<number>;
}

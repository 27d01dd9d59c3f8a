import { unixSeconds } from '../base/clock.ts';
import { words } from '../base/words.ts';
import { familyOf } from '../core/key-family.ts';
import { modelFor } from '../core/model-access.ts';
import type { Catalog } from '../core/model.ts';
import type { InteractiveCall } from '../inference/inference.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import type { ServiceTier } from '../core/service-tier.ts';
import { editMembers, type Edits } from '../wire/json/edit-members.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { PathMap } from '../wire/shared/path-map.ts';
import type { ClientNames } from '../wire/responses/client-tools.ts';
import { conversationOf, requireConversation } from '../wire/responses/request/request.ts';
import { nativeRequest } from '../wire/responses/request/native-request.ts';
import { newResponse } from '../wire/responses/answer/response-body.ts';
import type { ResponseBody, ResponsesRequest, StoredItem } from '../wire/responses/responses.ts';
import { storedItems } from '../wire/responses/stored-items.ts';
import type { PlacedItem } from '../wire/responses/request/to-chat-messages.ts';
import { toChatRequest } from '../wire/responses/request/to-chat-request.ts';
import { readConversation, type RememberedResponse } from './read-conversation.ts';
import type { ResponsesContext } from './context.ts';

/** Prepared request: the response in progress, and its chat request. */
export interface PreparedResponse {
  orgId: string;
  keyId: string;
  begun: ResponseBody;
  chat: ChatRequest;
  paths: () => PathMap;
  clientNames: ClientNames;
  /** Whole conversation before the answer. */
  items: readonly PlacedItem[];
  /** Approximate bytes of the conversation. */
  allBytes: number;
  /** Items of the input, with references resolved. */
  inputItems(): StoredItem[];
  /** Body of the same request as a line, which refers to no stored state. */
  line(): { value: Record<string, unknown>; text: string };
  /** Request for a server that supports responses. */
  native(stream: boolean): JsonBody<Record<string, unknown>>;
  /** Input as stored, with unresolved references; empty if the response is not stored. */
  input: string;
  /** Bytes of the input with references resolved. */
  inputBytes: number;
  /** Frees the reserved memory and quota. Call it after the answer. */
  leave(): void;
}

type PrepareCall = Pick<InteractiveCall, 'caller' | 'signal'> & {
  remembered?: RememberedResponse | undefined;
  /** Tier that serves the request; `default` if absent. */
  tier?: ServiceTier;
};

/** Removes what a line cannot have: it is not streamed, and refers to no stored state. */
const statelessEdits = words('stream stream_options background store previous_response_id conversation').map(
  (name) => [name, null] as const,
);

export function createPreparer(context: ResponsesContext, catalog: Catalog) {
  const { store, clock, ids, quota, memory, maxBytes } = context;

  async function prepare(
    body: JsonBody<ResponsesRequest>,
    { caller, signal, remembered, tier }: PrepareCall,
    reserve?: (bytes: number) => Promise<() => void>,
  ): Promise<PreparedResponse> {
    const { value: request, text } = body;
    const { orgId } = caller;
    const keyId = familyOf(caller);
    const model = modelFor(catalog, caller, request.model, 'chat').id;
    const id = ids.next('resp_');
    const now = clock.now();
    const enter = (bytes: number) => memory.enter(orgId, bytes, signal);
    const reader = { ...store, orgId, now, maxBytes, remembered, enter };
    const own = storedItems(request.input, id);
    const bytes = Buffer.byteLength(text);
    const unreserve = await reserve?.(bytes);
    let leave = () => unreserve?.();
    try {
      const conversation = await readConversation(reader, request, own, bytes);
      leave = () => {
        unreserve?.();
        conversation.leave();
      };
      const { items, namedBytes, saidBytes } = conversation;
      const allBytes = saidBytes + namedBytes + bytes;
      requireConversation(items);
      const begun = newResponse(request, {
        id,
        createdAt: unixSeconds(now),
        model,
        status: 'in_progress',
        ...(tier && { tier }),
      });
      const input = begun.store ? JSON.stringify(own) : '';
      const inputBytes = Buffer.byteLength(input) + namedBytes;
      const isAll = items.length === own.length && namedBytes === 0;
      const native = (stream: boolean) =>
        nativeRequest(body, isAll ? null : items.map(({ item }) => item), stream);
      const line = () => {
        const edits: Edits = new Map(statelessEdits);
        if (!isAll) edits.set('input', JSON.stringify(items.map(({ item }) => item)));
        const edited = editMembers(text, edits);
        return { value: JSON.parse(edited) as Record<string, unknown>, text: edited };
      };
      const inputItems = () => items.slice(-own.length).map(({ item }) => item);
      const converted = toChatRequest(request, items);
      return {
        ...converted,
        orgId,
        keyId,
        begun,
        items,
        allBytes,
        inputItems,
        input,
        inputBytes,
        leave,
        line,
        native,
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    /** Prepares a request without storing its response. */
    read: (body: JsonBody<ResponsesRequest>, call: PrepareCall) => prepare(body, call),
    /** Prepares a request and reserves quota, unless its response is not stored. */
    make: (body: JsonBody<ResponsesRequest>, call: PrepareCall) => {
      const reserve = (bytes: number) => quota.reserve(call.caller, bytes);
      const { value } = body;
      const isStored = value.store !== false || conversationOf(value) !== null;
      return prepare(body, call, isStored ? reserve : undefined);
    },
  };
}

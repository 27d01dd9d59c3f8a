import { unixSeconds } from '../base/clock.ts';
import { modelFor } from '../core/model-access.ts';
import type { Catalog } from '../core/model.ts';
import type { InteractiveCall } from '../inference/inference.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
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

/** A request made ready: the response it begins, and the chat it comes to. */
export interface PreparedResponse {
  /** Whose it is. */
  orgId: string;
  begun: ResponseBody;
  chat: ChatRequest;
  paths: () => PathMap;
  /** Tools that the client calls otherwise than the model. */
  clientNames: ClientNames;
  /** All that is said before the model answers. */
  items: readonly PlacedItem[];
  /** Bytes of all that, about. */
  allBytes: number;
  /** What the input has of them, references looked up. */
  asked(): StoredItem[];
  /** The same for a server that speaks this format. */
  native(stream: boolean): JsonBody<Record<string, unknown>>;
  /** The input as it is stored, references as they came; empty for what is not stored. */
  input: string;
  /** Bytes of the input, references counted as what they name. */
  inputBytes: number;
  /** Gives back the room that was taken for it: to be called when it is answered. */
  leave(): void;
}

export interface Preparer {
  /** A request that is only looked at. */
  read(body: JsonBody<ResponsesRequest>, call: PrepareCall): Promise<PreparedResponse>;
  /** One that is made, and stored unless it says otherwise: there has to be room for that. */
  make(body: JsonBody<ResponsesRequest>, call: PrepareCall): Promise<PreparedResponse>;
}

type PrepareCall = Pick<InteractiveCall, 'caller' | 'signal'> & {
  remembered?: RememberedResponse | undefined;
};

export function createPreparer(context: ResponsesContext, catalog: Catalog): Preparer {
  const { store, clock, ids, quota, memory, maxBytes } = context;

  async function prepare(
    body: JsonBody<ResponsesRequest>,
    { caller, signal, remembered }: PrepareCall,
    reserve?: (bytes: number) => Promise<() => void>,
  ): Promise<PreparedResponse> {
    const { value: request, text } = body;
    const { orgId } = caller;
    const model = modelFor(catalog, caller, request.model, 'chat').id;
    const id = ids.next('resp_');
    const now = clock.now();
    const enter = (bytes: number) => memory.enter(orgId, bytes, signal);
    const reader = { ...store, orgId, now, maxBytes, remembered, enter };
    const said = storedItems(request.input, id);
    const bytes = Buffer.byteLength(text);
    const unreserve = await reserve?.(bytes);
    let leave = () => unreserve?.();
    try {
      const conversation = await readConversation(reader, request, said, bytes);
      leave = () => {
        unreserve?.();
        conversation.leave();
      };
      const { items, namedBytes, saidBytes } = conversation;
      const allBytes = saidBytes + namedBytes + bytes;
      requireConversation(items);
      const begun = newResponse(request, { id, createdAt: unixSeconds(now), model, status: 'in_progress' });
      const input = begun.store ? JSON.stringify(said) : '';
      const inputBytes = Buffer.byteLength(input) + namedBytes;
      const isAll = items.length === said.length && namedBytes === 0;
      const native = (stream: boolean) =>
        nativeRequest(body, isAll ? null : items.map(({ item }) => item), stream);
      const asked = () => items.slice(-said.length).map(({ item }) => item);
      const made = toChatRequest(request, items);
      return { ...made, orgId, begun, items, allBytes, asked, input, inputBytes, leave, native };
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    read: (body, call) => prepare(body, call),
    make: (body, call) => {
      const reserve = (bytes: number) => quota.reserve(call.caller.orgId, bytes);
      const { value } = body;
      const isKept = value.store !== false || conversationOf(value) !== null;
      return prepare(body, call, isKept ? reserve : undefined);
    },
  };
}

import type { AnswerIdentity, PreparedChat } from '../../prepared/prepared-request.ts';
import type { ChatRequest } from '../../chat/chat.ts';
import { type JsonBody, builtBody } from '../../json/json-body.ts';
import { remapError, type PathMap } from '../../shared/path-map.ts';
import type { ClientNames } from '../client-tools.ts';
import { fromChatResponse } from './from-chat-response.ts';
import { nativeResponse } from './native-response.ts';
import { requireReadable } from '../request/request.ts';
import type { ResponseBody } from '../responses.ts';
import type { PlacedItem } from '../request/to-chat-messages.ts';

export interface ResponsePreparation {
  chat: ChatRequest;
  paths: () => PathMap;
  /** All that is said before the model answers. */
  items: readonly PlacedItem[];
  /** The same for a server that speaks this format. */
  native: () => JsonBody<Record<string, unknown>>;
  /** The response that is answered. */
  begun: (name: AnswerIdentity) => ResponseBody;
  /** When it was answered, in Unix seconds. */
  at: (name: AnswerIdentity) => number;
  newCallId: () => string;
  /** Tools that the client calls otherwise than the model. */
  clientNames: ClientNames;
}

/** A request for a response, to be answered whole. Through chat it throws ApiError `validation_error` for what only others can read. */
export function prepareResponse(ready: ResponsePreparation): PreparedChat<ResponseBody> {
  const { chat, paths, items, native, begun, at, newCallId, clientNames } = ready;
  return {
    kind: 'chat',
    chat,
    request() {
      requireReadable(items);
      return builtBody(chat);
    },
    native: {
      op: 'responses',
      request: native,
      answer: (given, name) => nativeResponse(begun(name), given, at(name)),
    },
    present: (answer) => fromChatResponse(begun(answer), answer, { at: at(answer), newCallId, clientNames }),
    mapError: (error) => remapError(error, chat, paths()),
  };
}

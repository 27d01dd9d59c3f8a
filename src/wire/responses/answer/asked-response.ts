import type { AnswerName, AskedChat } from '../../shared/asked.ts';
import type { ChatRequest } from '../../chat/chat.ts';
import { type JsonBody, madeBody } from '../../json/json-body.ts';
import { movedError, type Places } from '../../shared/places.ts';
import type { OwnNames } from '../client-tools.ts';
import { fromChatResponse } from './from-chat-response.ts';
import { nativeResponse } from './native-response.ts';
import { requireReadable } from '../request/request.ts';
import type { ResponseBody } from '../responses.ts';
import type { PlacedItem } from '../request/to-chat-messages.ts';

export interface ReadyResponse {
  chat: ChatRequest;
  places: () => Places;
  /** All that is said before the model answers. */
  items: readonly PlacedItem[];
  /** The same for a server that speaks this format. */
  native: () => JsonBody<Record<string, unknown>>;
  /** The response that is answered. */
  begun: (name: AnswerName) => ResponseBody;
  /** When it was answered, in Unix seconds. */
  at: (name: AnswerName) => number;
  newCallId: () => string;
  /** Tools that the client calls otherwise than the model. */
  own: OwnNames;
}

/** A request for a response, to be answered whole. Through chat it throws ApiError `validation_error` for what only others can read. */
export function askedResponse(ready: ReadyResponse): AskedChat<ResponseBody> {
  const { chat, places, items, native, begun, at, newCallId, own } = ready;
  return {
    kind: 'chat',
    chat,
    request() {
      requireReadable(items);
      return madeBody(chat);
    },
    native: {
      op: 'responses',
      request: native,
      answer: (given, name) => nativeResponse(begun(name), given, at(name)),
    },
    told: (answer) => fromChatResponse(begun(answer), answer, { at: at(answer), newCallId, own }),
    moved: (error) => movedError(error, chat, places()),
  };
}

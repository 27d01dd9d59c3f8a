import type { AnswerIdentity, PreparedChat } from '../../prepared/prepared-request.ts';
import type { ChatRequest, ChatResponse } from '../../chat/chat.ts';
import { type JsonBody, builtBody } from '../../json/json-body.ts';
import { remapError, type PathMap } from '../../shared/path-map.ts';
import type { ClientNames } from '../client-tools.ts';
import { OutputBuilder } from './output-builder.ts';
import { finishResponse, incompleteReason } from './response-body.ts';
import { nativeResponse } from './native-response.ts';
import { requireReadable } from '../request/request.ts';
import type { ResponseBody } from '../responses.ts';
import type { PlacedItem } from '../request/to-chat-messages.ts';

export interface ResponsePreparation {
  chat: ChatRequest;
  paths: () => PathMap;
  /** Whole conversation before the answer. */
  items: readonly PlacedItem[];
  /** Request for a server that supports responses. */
  native: () => JsonBody<Record<string, unknown>>;
  /** Response in progress. */
  begun: (identity: AnswerIdentity) => ResponseBody;
  /** End of the answer, in Unix seconds. */
  at: (identity: AnswerIdentity) => number;
  newCallId: () => string;
  clientNames: ClientNames;
}

/** Prepares a request. `request()` throws ApiError `validation_error` for content that only other servers can read. */
export function prepareResponse(preparation: ResponsePreparation): PreparedChat<ResponseBody> {
  const { chat, paths, items, native, begun, at, newCallId, clientNames } = preparation;
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
      answer: (given, identity) => nativeResponse(begun(identity), given, at(identity)),
    },
    present: (answer) => fromChatResponse(begun(answer), answer, { at: at(answer), newCallId, clientNames }),
    mapError: (error) => remapError(error, chat, paths()),
  };
}

/** Converts a chat completion. Reasoning, text and calls become items; a call has no empty message alongside it. @param at Unix seconds */
export function fromChatResponse(
  begun: ResponseBody,
  response: ChatResponse,
  {
    at,
    newCallId,
    clientNames = new Map(),
  }: { at: number; newCallId: () => string; clientNames?: ClientNames },
): ResponseBody {
  const { message, finish_reason: finish, logprobs } = response.choices[0]!;
  const output = new OutputBuilder({ responseId: begun.id, newCallId, clientNames });
  const calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
  output.add(message, logprobs?.content ?? [], calls);
  output.close(incompleteReason(finish) === null ? 'completed' : 'incomplete');
  const { model, usage } = response;
  return finishResponse(begun, { model, output: output.items, finish, usage, at });
}

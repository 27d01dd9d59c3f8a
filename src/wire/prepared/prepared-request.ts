import type { ChatRequest, ChatResponse, ChatUsage } from '../chat/chat.ts';
import type { CompletionsRequest } from '../completions/completions.ts';
import type { EmbeddingsRequest } from '../embeddings/embeddings.ts';
import type { JsonBody } from '../json/json-body.ts';

/** A checked request of any format, to be answered whole, and how its answer and its errors are told to who sent it. */
export type PreparedRequest =
  | PreparedChat
  | PreparedDirect<'completions', CompletionsRequest>
  | PreparedDirect<'embeddings', EmbeddingsRequest>;

/** A request that comes to a chat completion. */
export interface PreparedChat<Answer extends object | string = object | string> {
  kind: 'chat';
  chat: ChatRequest;
  /** The same with its text, as engines take it. */
  request: () => JsonBody<ChatRequest>;
  /** How an engine is asked that speaks the format itself; null where it must not be, or the format is chat. */
  native: NativeRequest<Answer> | null;
  /** The answer in the format of the request: a value, or its JSON text. */
  present: (answer: ChatResponse) => Answer;
  /** An error in the places of the request. */
  mapError: (error: unknown) => unknown;
}

export interface NativeRequest<Answer> {
  op: 'messages' | 'responses';
  request: () => JsonBody<Record<string, unknown>>;
  /** The answer under our id and the model's public name. */
  answer: (given: NativeAnswer, name: AnswerIdentity) => Answer;
}

export interface NativeAnswer {
  /** JSON text as it came, and what it holds. Of completions the `choices` alone, as `wire/completions` has them, and no text. */
  text: string;
  fields: Record<string, unknown>;
  usage: ChatUsage;
}

export interface AnswerIdentity {
  /** `chatcmpl_...`: formats put their own prefix before its digits. */
  id: string;
  model: string;
  /** Unix seconds. */
  created: number;
}

/** One that goes on as it is, or not at all. */
export interface PreparedDirect<Kind, Request> {
  kind: Kind;
  request: () => JsonBody<Request>;
  mapError: (error: unknown) => unknown;
}

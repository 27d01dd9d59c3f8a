import type { DirectKind } from '../../core/model.ts';
import type { ChatRequest, ChatResponse, ChatUsage } from '../chat/chat.ts';
import type { CompletionsRequest } from '../completions/completions.ts';
import type { DirectRequests } from '../direct/direct-formats.ts';
import type { JsonBody } from '../json/json-body.ts';

/** Checked request of any format, with functions that turn its answer and its errors into the client's format. */
export type PreparedRequest =
  | PreparedChat
  | PreparedDirect<'completions', CompletionsRequest>
  | { [Kind in DirectKind]: PreparedDirect<Kind, DirectRequests[Kind]> }[DirectKind];

/** Request that is answered by a chat completion. `Body` is the answer's type: a value, or its JSON text. */
export interface PreparedChat<Body extends object | string = object | string> {
  kind: 'chat';
  chat: ChatRequest;
  /** The chat request as engines take it. */
  request: () => JsonBody<ChatRequest>;
  /** Request for engines that support the format; null for chat, and where translation is required. */
  native: NativeRequest<Body> | null;
  present: (answer: ChatResponse) => Body;
  /** Maps the paths in an error to those of the client's request. */
  mapError: (error: unknown) => unknown;
}

/** Request in its own format, for engines that support it. */
export interface NativeRequest<Body> {
  op: 'messages' | 'responses';
  request: () => JsonBody<Record<string, unknown>>;
  /** Returns the answer under our id and the model's public name. */
  answer: (given: NativeAnswer, identity: AnswerIdentity) => Body;
}

export interface NativeAnswer {
  /** JSON text as received; empty for completions. */
  text: string;
  /** Its parsed members; for completions only the `choices`. */
  fields: Record<string, unknown>;
  usage: ChatUsage;
}

export interface AnswerIdentity {
  /** `chatcmpl_...`; formats replace the prefix by their own. */
  id: string;
  model: string;
  /** Unix seconds. */
  created: number;
}

/** Request that is forwarded without translation. */
export interface PreparedDirect<Kind, Request> {
  kind: Kind;
  request: () => JsonBody<Request>;
  mapError: (error: unknown) => unknown;
}

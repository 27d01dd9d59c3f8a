import type { ErrorCode } from '../../core/errors.ts';
import type { Serves } from '../../core/model.ts';
import type { ChatChunk, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import type { CompletionsRequest, CompletionsResponse } from '../../wire/completions/completions.ts';
import type { EmbeddingsRequest } from '../../wire/embeddings/embeddings.ts';
import type { Embeddings, NativeEvent } from '../engines.ts';

/**
 * What the engine and its child process say to each other, over Node's IPC with structured clones. Every request
 * carries an id of the parent's choosing; the child answers it with any number of `delta`s and then exactly one
 * `done` or `failed`.
 */
export type ToChild =
  | { type: 'load'; options: LoadOptions }
  | { type: 'ask'; id: number; ask: EngineRequest }
  | { type: 'abort'; id: number }
  | { type: 'ping' };

export type FromChild =
  | { type: 'loaded'; model: LoadedModel }
  /** The model cannot be loaded, and trying again will not help. */
  | { type: 'refused'; message: string }
  | { type: 'delta'; id: number; delta: Delta }
  | { type: 'done'; id: number; answer: EngineResult }
  | { type: 'failed'; id: number; error: Failure }
  /** `steps` grows with every token evaluated; the parent tells a slow child from a stuck one by it. */
  | { type: 'pong'; steps: number; working: number };

export type EngineRequest =
  | { op: 'generate'; request: ChatRequest; options: GenerateOptions }
  | { op: 'complete'; request: CompletionsRequest; options: GenerateOptions }
  | { op: 'embed'; request: EmbeddingsRequest }
  | { op: 'count'; request: ChatRequest | EmbeddingsRequest };

export interface EngineResults {
  generate: ChatResult;
  complete: CompletionResult;
  embed: Embeddings;
  /** Tokens of the prompt. */
  count: number;
}

export type EngineResult = EngineResults[EngineRequest['op']];

/** What is told of a streamed answer while it is made, as clients get it. Its usage comes with the end. */
export interface Deltas {
  generate: Pick<ChatChunk, 'choices' | 'prompt'>;
  complete: Pick<NativeEvent, 'fields' | 'delta'>;
}

export type Delta = Deltas[keyof Deltas];

export interface LoadOptions {
  modelPath: string;
  /** Requests worked on at once; each has `contextSize` tokens of its own. */
  sequences: number;
  contextSize: number | 'auto';
  threads: number | 'auto';
  flashAttention: boolean;
}

export interface LoadedModel {
  serves: Serves[];
  contextLength: number;
  threads: number;
  /** Bytes of the model file and of all key-value caches. */
  bytes: { model: number; cache: number };
}

export interface GenerateOptions {
  priority: 'interactive' | 'batch';
  prefix: string;
  /** Whether deltas are wanted; a batch line needs only the end. */
  streamed: boolean;
}

/** An answer of chat, and of completions, but for its id and its model. */
export type ChatResult = Pick<ChatResponse, 'choices' | 'usage'>;
export type CompletionResult = Pick<CompletionsResponse, 'choices' | 'usage'>;

/** An `ApiError` on its way between processes. */
export interface Failure {
  code: ErrorCode;
  message: string;
  param: string | null;
}

import type { ErrorCode } from '../../core/errors.ts';
import type { CardChoice, CardWish, GpuKind } from '../../core/card.ts';
import type { Serves } from '../../core/model.ts';
import type { ChatChunk, ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import type { CompletionsRequest, CompletionsResponse } from '../../wire/completions/completions.ts';
import type { Embeddings, EmbeddingsRequest } from '../../wire/embeddings/embeddings.ts';
import type { NativeEvent } from '../engines.ts';

/**
 * Messages between the engine and its child process, over Node's IPC with structured clones. The child answers each `ask`,
 * by its id, with any number of `delta`s and then exactly one `done` or `failed`.
 */
export type ToChild =
  | { type: 'load'; options: LoadOptions }
  /** Asks for the cards that a build can use, of a process that does nothing else. */
  | { type: 'examine'; kind: GpuKind; folder: string }
  | { type: 'ask'; id: number; ask: EngineRequest }
  | { type: 'abort'; id: number }
  | { type: 'ping' };

export type FromChild =
  | { type: 'loaded'; model: LoadedModel }
  | { type: 'examined'; choice: CardChoice }
  /** The model cannot be loaded; a retry would not help. */
  | { type: 'refused'; message: string }
  | { type: 'delta'; id: number; delta: Delta }
  | { type: 'done'; id: number; answer: EngineResult }
  | { type: 'failed'; id: number; error: Failure }
  /** `steps` grows with every evaluated token, which distinguishes a slow child from a stuck one. */
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
  /** Number of tokens of the prompt. */
  count: number;
}

export type EngineResult = EngineResults[EngineRequest['op']];

/** Parts of a streamed answer. The usage comes with the result. */
export interface Deltas {
  generate: Pick<ChatChunk, 'choices' | 'prompt'>;
  complete: Pick<NativeEvent, 'fields' | 'delta'>;
}

export type Delta = Deltas[keyof Deltas];

export interface LoadOptions {
  modelPath: string;
  /** Requests processed concurrently, each with `contextSize` tokens. */
  sequences: number;
  contextSize: number | 'auto';
  threads: number | 'auto';
  flashAttention: boolean;
  /** Use of a graphics card; absent for the processor alone. */
  card?: CardOptions;
}

export interface CardOptions extends CardWish {
  /** Folder of the builds. */
  folder: string;
}

export interface LoadedModel {
  serves: Serves[];
  contextLength: number;
  threads: number;
  /** Sizes of the model file and of all key-value caches. */
  bytes: { model: number; cache: number };
  /** Layers on graphics cards; absent without any. */
  card?: CardUse;
  /** Sentence about a card that is not used, or not for all wanted layers. */
  note?: string;
}

export interface CardUse {
  kind: GpuKind;
  names: string[];
  /** Layers on the cards, and of the model, each with the output. */
  layers: number;
  of: number;
  /** Planned bytes on all cards. */
  bytes: number;
}

export interface GenerateOptions {
  priority: 'interactive' | 'batch';
  prefix: string;
  /** Sends deltas. */
  streamed: boolean;
}

/** Answers without ID and model. */
export type ChatResult = Pick<ChatResponse, 'choices' | 'usage'>;
export type CompletionResult = Pick<CompletionsResponse, 'choices' | 'usage'>;

/** An `ApiError` as a message between processes. */
export interface Failure {
  code: ErrorCode;
  message: string;
  param: string | null;
}

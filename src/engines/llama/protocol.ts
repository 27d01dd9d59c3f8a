import type { ErrorCode } from '../../core/errors.ts';
import type { Serves } from '../../core/model.ts';
import type { ChatRequest, FinishReason, TokenLogprob } from '../../wire/chat/chat.ts';
import type { CompletionsRequest } from '../../wire/completions/completions.ts';
import type { ScoredToken } from '../../wire/completions/logprobs.ts';
import type { EmbeddingsRequest } from '../../wire/embeddings/embeddings.ts';

/**
 * What the engine and its child process say to each other, over Node's IPC with structured clones. Every request
 * carries an id of the parent's choosing; the child answers it with any number of `delta`s and then exactly one
 * `done` or `failed`.
 */
export type ToChild =
  | { type: 'load'; options: LoadOptions }
  | { type: 'ask'; id: number; ask: Ask }
  | { type: 'abort'; id: number }
  | { type: 'ping' };

export type FromChild =
  | { type: 'loaded'; model: LoadedModel }
  /** The model cannot be loaded, and trying again will not help. */
  | { type: 'refused'; message: string }
  | { type: 'delta'; id: number; choice: number; delta: Delta }
  | { type: 'done'; id: number; answer: Answer }
  | { type: 'failed'; id: number; error: Failure }
  /** `steps` grows with every token evaluated; the parent tells a slow child from a stuck one by it. */
  | { type: 'pong'; steps: number; working: number };

export type Ask =
  | { op: 'generate'; request: ChatRequest; options: GenerateOptions }
  | { op: 'complete'; request: CompletionsRequest; options: GenerateOptions }
  | { op: 'embed'; request: EmbeddingsRequest }
  | { op: 'count'; request: ChatRequest | EmbeddingsRequest };

export interface Answers {
  generate: Generated;
  complete: Completed;
  embed: Embedded;
  /** Tokens of the prompt. */
  count: number;
}

export type Answer = Answers[Ask['op']];

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

/** A piece of one choice. A tool call comes whole. */
export interface Delta {
  content?: string;
  /** The content is the prompt told again, nothing that was made. */
  isEcho?: boolean;
  reasoning?: string;
  call?: GeneratedCall;
  logprobs?: TokenLogprob[];
  /** Of text behind, or with, a raw prompt. */
  scored?: ScoredToken[];
  finish?: FinishReason;
  /** With `finish`: the stop string that was met. */
  stop?: string;
  /** With the first piece of the first choice. */
  prompt?: Pick<TokenCounts, 'prompt' | 'cached'>;
}

/** `arguments` is JSON text. */
export interface GeneratedCall {
  name: string;
  arguments: string;
}

export interface GeneratedChoice {
  content: string;
  /** What the model thought before it answered; empty when it did not. */
  reasoning: string;
  calls: GeneratedCall[];
  logprobs: TokenLogprob[] | null;
  finish: FinishReason;
  stop?: string;
}

export interface TokenCounts {
  prompt: number;
  cached: number;
  completion: number;
  /** Those of the completion that were thoughts. */
  reasoning: number;
}

export interface Generated {
  choices: GeneratedChoice[];
  tokens: TokenCounts;
}

export interface CompletedChoice {
  text: string;
  scored: ScoredToken[] | null;
  finish: FinishReason;
  stop?: string;
}

export interface Completed {
  choices: CompletedChoice[];
  tokens: TokenCounts;
}

export interface Embedded {
  vectors: Float32Array[];
  promptTokens: number;
}

/** An `ApiError` on its way between processes. */
export interface Failure {
  code: ErrorCode;
  message: string;
  param: string | null;
}

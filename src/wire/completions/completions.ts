import type { ChatRequest, ChatUsage, FinishReason } from '../chat/chat.ts';
import type { TextInputs } from '../shared/text-inputs.ts';

/** `POST /v1/completions`: text that goes on where a raw prompt ends, without roles or a chat template. */
export interface CompletionsRequest extends Sampling {
  model: string;
  prompt: TextInputs;
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean | null } | null;
  /** 16 if absent; 0 where the probabilities of the prompt alone are wanted. */
  max_tokens?: number | null;
  n?: number | null;
  best_of?: number | null;
  /** Whether the answer begins with the prompt. */
  echo?: boolean | null;
  /** How many alternatives are told of each token, with its own probability. */
  logprobs?: number | null;
  /** What comes behind the text. */
  suffix?: string | null;
  [extra: string]: unknown;
}

/** How tokens are chosen, as in chat completions. */
export type Sampling = Pick<
  ChatRequest,
  | 'temperature'
  | 'top_p'
  | 'top_k'
  | 'min_p'
  | 'stop'
  | 'seed'
  | 'logit_bias'
  | 'frequency_penalty'
  | 'presence_penalty'
  | 'repeat_penalty'
  | 'repetition_penalty'
>;

/** The official service's, and so everybody's here. */
export const defaultMaxTokens = 16;

export interface CompletionsResponse {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  /** `n` of the first prompt, then `n` of the second ... */
  choices: CompletionChoice[];
  usage: ChatUsage;
}

export interface CompletionChoice extends CompletionPiece {
  finish_reason: FinishReason;
}

/** A piece of a choice, or a whole one. */
export interface CompletionPiece {
  index: number;
  text: string;
  logprobs: CompletionLogprobs | null;
  finish_reason: FinishReason | null;
  /** The stop sequence that ended it, where the engine tells. */
  stop_reason?: string | null;
}

/** What is known of each token of the text, in four lists of the same length. */
export interface CompletionLogprobs {
  tokens: string[];
  /** Null for the first token of a prompt, before which there is nothing. */
  token_logprobs: (number | null)[];
  /** The likeliest tokens and the one that came. */
  top_logprobs: (Record<string, number> | null)[];
  /** Where each begins in the text of the choice, in characters (code points). */
  text_offset: number[];
}

/** A piece of a streamed answer, or, last, its usage without choices. */
export interface CompletionChunk {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  choices: CompletionPiece[];
  usage?: ChatUsage | null;
}

/** In lists of what came together. */
export type CompletionChunks = AsyncIterable<readonly CompletionChunk[]>;

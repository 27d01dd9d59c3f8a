import type { Words } from '../../base/words.ts';
import type { ChatRequest, ChatUsage, FinishReason } from '../chat/chat.ts';
import type { TextInputs } from '../shared/text-inputs.ts';

/** Body of `POST /v1/completions`: text that continues a raw prompt, without roles or a chat template. */
export interface CompletionsRequest extends Sampling {
  model: string;
  prompt: TextInputs;
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean | null } | null;
  /** Default 16; 0 returns only the probabilities of the prompt. */
  max_tokens?: number | null;
  n?: number | null;
  best_of?: number | null;
  /** True to begin the answer with the prompt. */
  echo?: boolean | null;
  /** Number of alternatives returned for each token. */
  logprobs?: number | null;
  /** Text that follows the completion. */
  suffix?: string | null;
  [extra: string]: unknown;
}

export type Sampling = Pick<
  ChatRequest,
  | Words<'temperature top_p top_k min_p stop seed logit_bias'>
  | Words<'frequency_penalty presence_penalty repeat_penalty repetition_penalty'>
>;

/** Default of the OpenAI API. */
export const defaultMaxTokens = 16;

export interface CompletionsResponse {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  /** `n` choices of the first prompt, then `n` of the second ... */
  choices: CompletionChoice[];
  usage: ChatUsage;
}

export interface CompletionChoice extends CompletionPiece {
  finish_reason: FinishReason;
}

/** Part of a choice, or a whole choice. */
export interface CompletionPiece {
  index: number;
  text: string;
  logprobs: CompletionLogprobs | null;
  finish_reason: FinishReason | null;
  /** Stop sequence that ended the choice, if the engine reports it. */
  stop_reason?: string | null;
}

/** Tokens of the text, in four lists of the same length. */
export interface CompletionLogprobs {
  tokens: string[];
  /** Null for the first token of a prompt. */
  token_logprobs: (number | null)[];
  /** Likeliest tokens, and the chosen one. */
  top_logprobs: (Record<string, number> | null)[];
  /** Start of each token in the text of the choice, in code points. */
  text_offset: number[];
}

/** Chunk of a streamed answer; the last one has the usage and no choices. */
export interface CompletionChunk {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  choices: CompletionPiece[];
  usage?: ChatUsage | null;
}

/** Streamed chunks, in lists as they arrive. */
export type CompletionChunks = AsyncIterable<readonly CompletionChunk[]>;

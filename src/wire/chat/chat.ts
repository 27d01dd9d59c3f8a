import type { ReasoningDetail } from './reasoning-details.ts';

/**
 * Canonical request inside Offpeak: a chat completion request. Every other format is converted to and from this one; fields
 * that only chat clients send are in `body.ts`. Unknown fields are kept for the engine.
 */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean | null } | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: number | null;
  min_p?: number | null;
  n?: number | null;
  stop?: string | string[] | null;
  seed?: number | null;
  logprobs?: boolean | null;
  top_logprobs?: number | null;
  logit_bias?: Record<string, number> | null;
  frequency_penalty?: number | null;
  presence_penalty?: number | null;
  repeat_penalty?: number | null;
  /** vLLM's and SGLang's name for `repeat_penalty`. */
  repetition_penalty?: number | null;
  response_format?: ResponseFormat | null;
  tools?: Tool[] | null;
  tool_choice?: ToolChoice | null;
  parallel_tool_calls?: boolean | null;
  reasoning_effort?: string | null;
  /** Maximum tokens of reasoning (llama-server's field). */
  thinking_budget_tokens?: number | null;
  service_tier?: string | null;
  [extra: string]: unknown;
}

export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content?: string | ContentPart[] | null;
  name?: string;
  tool_calls?: ToolCall[] | null;
  tool_call_id?: string;
  refusal?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  reasoning_details?: ReasoningDetail[] | null;
}

/** Marks the end of a prefix that the provider should cache. */
export interface CacheControl {
  type?: string;
  ttl?: string;
}

export interface ContentPart {
  type: string;
  text?: string;
  refusal?: string;
  cache_control?: CacheControl | null;
  [extra: string]: unknown;
}

export type JsonSchema = Record<string, unknown> | boolean;

export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      json_schema: { name: string; strict?: boolean | null; schema?: JsonSchema; description?: string };
    };

export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: JsonSchema; strict?: boolean | null };
  /** Free-text tool that the function was made from, for servers that support it. */
  custom?: CustomDefinition;
  cache_control?: CacheControl | null;
}

/** Tool with free-text input, as its client defined it. */
export interface CustomDefinition {
  name: string;
  description?: string | null;
  format?: { type: string; grammar?: { syntax: string; definition: string } | null } | null;
}

export type ToolChoice = 'none' | 'auto' | 'required' | { type: 'function'; function: { name: string } };

export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON text. */
  function: { name: string; arguments: string };
  /** Data that its server needs back with the call, such as Gemini's thought signature. */
  extra_content?: Record<string, unknown>;
  cache_control?: CacheControl | null;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ChatResponse {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: ChatChoice[];
  usage: ChatUsage;
  system_fingerprint?: string | null;
  [extra: string]: unknown;
}

export interface ChatChoice {
  index: number;
  message: AssistantMessage;
  logprobs: ChoiceLogprobs | null;
  finish_reason: FinishReason;
  /** Stop sequence that ended the choice, if the engine reports it; vLLM's name. */
  stop_reason?: string | null;
}

export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  refusal: string | null;
  tool_calls?: ToolCall[];
  reasoning?: string;
  reasoning_content?: string;
  reasoning_details?: ReasoningDetail[];
}

export interface ChoiceLogprobs {
  content: TokenLogprob[] | null;
  refusal: null;
}

export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  top_logprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens?: number };
  /** Absent if the engine does not report it. */
  completion_tokens_details?: { reasoning_tokens: number };
  /** Billed tokens, if an earlier attempt that broke a guarantee is billed as well. */
  billed?: Billed;
}

export type Billed = Pick<ChatUsage, 'prompt_tokens' | 'completion_tokens' | 'prompt_tokens_details'>;

/** Streamed answer in lists of chunks, possibly empty, so that each step to the client costs once per list, not per chunk. */
export type ChatChunks = AsyncIterable<readonly ChatChunk[]>;

export interface ChatChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: number;
    delta: ChatDelta;
    logprobs?: ChoiceLogprobs | null;
    finish_reason: FinishReason | null;
    stop_reason?: string | null;
  }[];
  usage?: ChatUsage | null;
  /** Prompt usage with the first chunk, if the engine reports it. Not sent to chat clients. */
  prompt?: PromptUsage;
  system_fingerprint?: string;
}

export type PromptUsage = Pick<ChatUsage, 'prompt_tokens' | 'prompt_tokens_details'>;

export interface ChatDelta {
  role?: 'assistant';
  content?: string | null;
  refusal?: string | null;
  reasoning?: string;
  reasoning_content?: string;
  reasoning_details?: ReasoningDetail[];
  tool_calls?: {
    index: number;
    id?: string;
    type?: 'function';
    function?: { name?: string; arguments?: string };
    extra_content?: Record<string, unknown>;
  }[];
}

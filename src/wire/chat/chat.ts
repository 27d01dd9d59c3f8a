import type { ReasoningDetail } from './reasoning-details.ts';

/**
 * The canonical request and response inside Offpeak: chat completions (wire-formats.md, section 1a). Every other
 * format converts to and from these; what chat clients send besides is in `body.ts`. Unknown fields are kept: an engine
 * decides which of them it knows.
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
  /** The same under the name that vLLM and SGLang have for it. */
  repetition_penalty?: number | null;
  response_format?: ResponseFormat | null;
  tools?: Tool[] | null;
  tool_choice?: ToolChoice | null;
  parallel_tool_calls?: boolean | null;
  reasoning_effort?: string | null;
  /** Most tokens to think, where the engine can be told (llama-server's field). */
  thinking_budget_tokens?: number | null;
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

/** Ends a prefix that a service shall keep in its cache. */
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
  /** What the function was made of, for servers that take it as it is. */
  custom?: CustomDefinition;
  cache_control?: CacheControl | null;
}

/** A tool that takes free text, as its client wrote it. */
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
  /** What its server wants back with it: Gemini's signature of the thoughts that led to it. */
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
  /** The stop sequence that ended it, where the engine tells, under vLLM's name for it. */
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
  prompt_tokens_details: { cached_tokens: number };
  /** Absent where the engine does not tell. */
  completion_tokens_details?: { reasoning_tokens: number };
  /** What is paid, where it took more than this answer: one before it did not keep what was promised. */
  billed?: Billed;
}

/** Tokens that are paid. */
export type Billed = Pick<ChatUsage, 'prompt_tokens' | 'completion_tokens' | 'prompt_tokens_details'>;

/**
 * A streamed answer, in lists of what came together, which may be empty: every step on its way to the client costs once a
 * list, not once a chunk.
 */
export type ChatChunks = AsyncIterable<readonly ChatChunk[]>;

/** One `chat.completion.chunk` of a stream. */
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
  /** What is known of the prompt before the end, with the first chunk where the engine tells. It is no chat client's business. */
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

import type { ResponseStatus } from '../../core/response.ts';
import type { ServiceTier } from '../../core/service-tier.ts';
import type { JsonSchema, TokenLogprob } from '../chat/chat.ts';

/** Windows of a background response, of which all but `soonest` have the batch price. */
export type BackgroundWindow = 'soonest' | '2h' | '8h';

/** Body of `POST /v1/responses`. Unknown fields are kept and ignored. */
export interface ResponsesRequest {
  model: string;
  input: string | InputItem[];
  instructions?: string | null;
  max_output_tokens?: number | null;
  max_tool_calls?: number | null;
  temperature?: number | null;
  top_p?: number | null;
  top_logprobs?: number | null;
  stream?: boolean | null;
  store?: boolean | null;
  background?: boolean | null;
  background_options?: {
    completion_window?: BackgroundWindow | null;
    continuation_id?: string | null;
  } | null;
  previous_response_id?: string | null;
  conversation?: string | { id: string } | null;
  text?: { format?: TextFormat | null; verbosity?: string | null } | null;
  tools?: ResponsesTool[] | null;
  tool_choice?: ResponsesToolChoice | null;
  parallel_tool_calls?: boolean | null;
  reasoning?: { effort?: string | null; summary?: string | null } | null;
  include?: string[] | null;
  metadata?: Record<string, string> | null;
  safety_identifier?: string | null;
  prompt_cache_key?: string | null;
  service_tier?: string | null;
  [extra: string]: unknown;
}

export type TextFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      name: string;
      schema: JsonSchema;
      strict?: boolean | null;
      description?: string | null;
    };

/**
 * Function, flat or nested as in chat completions; `custom` for free text; a `namespace` of both; or a tool that the API
 * defines (`defined-tools.ts`). Other types are ignored.
 */
export interface ResponsesTool extends Partial<FunctionFields> {
  type: string;
  function?: FunctionFields | null;
  format?: { type?: string; syntax?: string | null; definition?: string | null } | null;
  tools?: ResponsesTool[];
  [extra: string]: unknown;
}

export interface FunctionFields {
  name: string;
  description?: string | null;
  parameters?: JsonSchema | null;
  strict?: boolean | null;
}

/** Tools that the API defines and the client runs. */
export type DefinedType = 'local_shell' | 'shell' | 'apply_patch' | 'tool_search';

/** Client's name of a tool, which may differ from the model's. */
export interface ClientName {
  type: 'function' | 'custom' | DefinedType;
  name: string;
  namespace?: string;
}

export type ResponsesToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | {
      type: string;
      name?: string;
      namespace?: string | null;
      function?: { name: string } | null;
      mode?: 'auto' | 'required';
      tools?: { type: string; name?: string; function?: { name: string } | null }[];
    };

/** Item as clients send it. `type` is optional for messages and references. */
export interface InputItem {
  type?: string | null;
  id?: string | null;
  role?: string;
  content?: string | InputPart[] | null;
  call_id?: string;
  name?: string;
  arguments?: string;
  namespace?: string | null;
  /** Input of a free-text call. */
  input?: string;
  /** Calls of a shell have an action; those of `apply_patch` an operation. */
  action?: Record<string, unknown>;
  operation?: Record<string, unknown>;
  /** Tools of `additional_tools`, or those that a search found. */
  tools?: ResponsesTool[];
  output?: string | InputPart[];
  summary?: { type?: string; text?: string }[] | null;
  [extra: string]: unknown;
}

export interface InputPart {
  type: string;
  text?: string;
  refusal?: string;
  image_url?: string | null;
  detail?: string | null;
  file_data?: string | null;
  filename?: string | null;
  input_audio?: Record<string, unknown>;
  [extra: string]: unknown;
}

/** Item with type and id, as stored, listed and converted. */
export interface StoredItem extends InputItem {
  type: string;
  id: string;
}

interface Item<Type> {
  id: string;
  type: Type;
  status: 'in_progress' | 'completed' | 'incomplete';
}

interface Call<Type> extends Item<Type> {
  call_id: string;
}

export interface MessageItem extends Item<'message'> {
  role: 'assistant';
  /** Set when the message is complete: text before a call, or the answer. */
  phase?: 'commentary' | 'final_answer';
  content: (
    | { type: 'output_text'; text: string; annotations: []; logprobs: TokenLogprob[] }
    | { type: 'refusal'; refusal: string }
  )[];
}

export interface FunctionCallItem extends Call<'function_call'> {
  name: string;
  namespace?: string;
  arguments: string;
}

/** Call of a free-text tool. */
export interface CustomCallItem extends Call<'custom_tool_call'> {
  name: string;
  namespace?: string;
  input: string;
}

/** Call of a tool that the API defines. */
export interface DefinedCallItem extends Call<`${DefinedType}_call`> {
  /** Action of a shell. */
  action?: Record<string, unknown>;
  /** Change of a file. */
  operation?: Record<string, unknown>;
  /** Query of a search. */
  arguments?: Record<string, unknown>;
  execution?: 'client';
}

export interface ReasoningItem extends Item<'reasoning'> {
  summary: { type: 'summary_text'; text: string }[];
  /** Copy of the summary, set at the end: clients of open models read reasoning here. */
  content?: { type: 'reasoning_text'; text: string }[];
}

export type OutputItem = MessageItem | FunctionCallItem | CustomCallItem | DefinedCallItem | ReasoningItem;

/** Requested urgency. It has no effect and is only returned. */

/** Response resource. Every key is always present, because some clients require it. */
export interface ResponseBody {
  id: string;
  object: 'response';
  created_at: number;
  completed_at: number | null;
  status: ResponseStatus;
  background: boolean;
  error: { code: string; message: string } | null;
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null;
  instructions: string | null;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  metadata: Record<string, string>;
  model: string;
  output: OutputItem[];
  parallel_tool_calls: boolean;
  previous_response_id: string | null;
  /** Present if the response belongs to one. */
  conversation?: { id: string };
  reasoning: { effort: string | null; summary: string | null };
  safety_identifier: string | null;
  prompt_cache_key: string | null;
  service_tier: ServiceTier;
  store: boolean;
  temperature: number;
  top_p: number;
  presence_penalty: number;
  frequency_penalty: number;
  top_logprobs: number;
  text: { format: TextFormat; verbosity: string };
  tool_choice: 'none' | 'auto' | 'required' | ClientName;
  tools: (FunctionTool | ResponsesTool)[];
  truncation: 'disabled';
  usage: ResponseUsage | null;
}

export interface FunctionTool {
  type: 'function';
  name: string;
  description: string | null;
  parameters: JsonSchema | null;
  strict: boolean | null;
}

export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** Events of a streamed response, in lists like `ChatChunks`. */
export type ResponseEvents = AsyncIterable<readonly ResponseEvent[]>;

/** Server-sent event. Its other fields depend on its type. */
export interface ResponseEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}

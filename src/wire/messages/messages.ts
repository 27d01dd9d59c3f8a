import type { CacheControl, JsonSchema } from '../chat/chat.ts';

/** Request of the messages API, as far as Offpeak reads it. Other fields, and blocks and tools of other types, are ignored. */
export interface MessagesRequest {
  model: string;
  /** Required, except to count tokens. */
  max_tokens?: number;
  messages: MessagesTurn[];
  system?: string | Block[] | null;
  stop_sequences?: string[] | null;
  stream?: boolean | null;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: number | null;
  tools?: MessagesTool[] | null;
  tool_choice?: MessagesToolChoice | null;
  thinking?: { type: string; budget_tokens?: number; display?: string | null } | null;
  output_config?: { effort?: string | null; format?: OutputFormat | null } | null;
  /** Predecessor of `output_config.format`. */
  output_format?: OutputFormat | null;
  metadata?: { user_id?: string | null } | null;
  /** Starts or continues a conversation stored on the server, so that `messages` has only the new turns. */
  thread?: { type: string } | null;
  service_tier?: string | null;
  [extra: string]: unknown;
}

export interface MessagesTurn {
  role: 'user' | 'assistant' | 'system';
  content: string | Block[];
}

/** Block of a request. Its type determines its fields. */
export interface Block {
  type: string;
  text?: string;
  source?: BlockSource | string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: string | Block[] | null;
  is_error?: boolean | null;
  thinking?: string;
  signature?: string | null;
  title?: string | null;
  context?: string | null;
  /** MCP server of a call. */
  server_name?: string;
  /** Tool of a `tool_reference`. */
  tool_name?: string;
  /** Tool that a change adds or removes; a summary has `tool_changes`. */
  tool?: unknown;
  tool_changes?: Block[] | null;
  encrypted_content?: string | null;
  cache_control?: CacheControl | null;
}

export interface BlockSource {
  type: string;
  media_type?: string;
  data?: string;
  url?: string;
  content?: string | Block[];
}

export interface MessagesTool {
  /** Absent or `custom` for a function of the client; other types are defined by the API, and run by the client or a server. */
  type?: string | null;
  name: string;
  description?: string | null;
  input_schema: JsonSchema;
  strict?: boolean | null;
  cache_control?: CacheControl | null;
  /** Only for `computer`. */
  display_width_px?: number | null;
  display_height_px?: number | null;
  enable_zoom?: boolean | null;
}

export interface MessagesToolChoice {
  type: 'auto' | 'any' | 'tool' | 'none';
  name?: string;
  disable_parallel_tool_use?: boolean | null;
}

export interface OutputFormat {
  type: 'json_schema';
  schema: JsonSchema;
}

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

export type AnswerBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown };

export interface MessagesUsage {
  /** Without cached tokens. */
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
  /** Absent if the engine does not report it. */
  output_tokens_details?: { thinking_tokens: number };
}

/**
 * Tier by the names of Anthropic's types, which have none for `flex`: `batch` is what runs at the batch price, lines of batches and
 * flex requests alike.
 */
export type MessagesTier = 'standard' | 'batch';

export interface Message {
  /** `msg_...` */
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: AnswerBlock[];
  stop_reason: StopReason | null;
  /** Stop sequence that ended the message, if the engine reports it. */
  stop_sequence: string | null;
  stop_details: { type: 'refusal'; category: null; explanation: string | null } | null;
  container: null;
  usage: MessagesUsage & { service_tier: MessagesTier };
}

/** Events of a streamed message, in order. */
export type MessageEvent =
  | { type: 'message_start'; message: Message }
  | { type: 'content_block_start'; index: number; content_block: AnswerBlock }
  | { type: 'content_block_delta'; index: number; delta: BlockDelta }
  | { type: 'content_block_stop'; index: number }
  | {
      type: 'message_delta';
      delta: Pick<Message, 'stop_reason' | 'stop_sequence' | 'stop_details' | 'container'>;
      usage: MessagesUsage;
    }
  | { type: 'message_stop' };

export type BlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string };

import type {
  ChatMessage,
  ChatRequest,
  CustomDefinition,
  JsonSchema,
  Tool,
  ToolCall,
  ToolChoice,
} from '../chat.ts';

/**
 * Chat request as clients send it. In addition to the canonical form it has free-text tools, allowed tools, and the older
 * functions API; `canonical.ts` converts it.
 */
export interface ChatBody extends ChatFields {
  messages: BodyMessage[];
  tools?: BodyTool[] | null;
  tool_choice?: BodyToolChoice | null;
  functions?: FunctionDefinition[] | null;
  function_call?: 'none' | 'auto' | { name: string } | null;
  [extra: string]: unknown;
}

type ChatFields = Pick<ChatRequest, 'model' | 'stream' | 'stream_options' | 'logprobs' | 'top_logprobs'>;

export interface BodyMessage extends Omit<ChatMessage, 'role' | 'tool_calls'> {
  role: ChatMessage['role'] | 'function';
  tool_calls?: BodyToolCall[] | null;
  /** `arguments` is JSON text. */
  function_call?: { name: string; arguments: string } | null;
}

/** Tool of the client, or of another type, which is ignored. */
export type BodyTool = Tool | CustomTool | { type: string; function?: undefined; custom?: undefined };

/** Tool with free-text input. */
export interface CustomTool {
  type: 'custom';
  custom: CustomDefinition;
}

export type BodyToolCall = ToolCall | CustomCall;

export interface CustomCall {
  id: string;
  type: 'custom';
  custom: { name: string; input: string };
}

export type BodyToolChoice =
  | ToolChoice
  | { type: 'custom'; custom: { name: string } }
  | { type: 'allowed_tools'; allowed_tools: AllowedTools };

export interface AllowedTools {
  mode: 'auto' | 'required';
  tools: { type: string; function?: { name: string }; custom?: { name: string } }[];
}

/** Predecessor of tools. */
export interface FunctionDefinition {
  name: string;
  description?: string | null;
  parameters?: JsonSchema | null;
}

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
 * A chat request as clients send it, which says more than the canonical one: tools that are no functions, a shorter list
 * of allowed ones, and the functions that came before tools. `canonical.ts` makes the canonical request of it.
 */
export interface ChatBody extends ChatFields {
  messages: BodyMessage[];
  tools?: BodyTool[] | null;
  tool_choice?: BodyToolChoice | null;
  functions?: FunctionDefinition[] | null;
  function_call?: FunctionChoice | null;
  [extra: string]: unknown;
}

type ChatFields = Pick<ChatRequest, 'model' | 'stream' | 'stream_options' | 'logprobs' | 'top_logprobs'>;

export interface BodyMessage extends Omit<ChatMessage, 'role' | 'tool_calls'> {
  role: ChatMessage['role'] | 'function';
  tool_calls?: BodyToolCall[] | null;
  function_call?: FunctionCall | null;
}

/** A tool of the client's, or one of another type, which is passed over. */
export type BodyTool = Tool | CustomTool | { type: string; function?: undefined; custom?: undefined };

/** A tool that takes free text. */
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

/** What tools were before there were tools. */
export interface FunctionDefinition {
  name: string;
  description?: string | null;
  parameters?: JsonSchema | null;
}

export type FunctionChoice = 'none' | 'auto' | { name: string };

export interface FunctionCall {
  name: string;
  /** JSON text. */
  arguments: string;
}

import { fieldsOf } from '../../../base/fields.ts';
import type { ChatRequest, Tool, ToolChoice } from '../../../wire/chat/chat.ts';
import { fromChatMessages, markOf, paragraphs } from './from-chat-messages.ts';
import type {
  Block,
  MessagesRequest,
  MessagesTool,
  MessagesToolChoice,
} from '../../../wire/messages/messages.ts';

/** Limit for chat requests without one, because messages require it. */
const defaultMaxTokens = 32_000;

const jsonLine = 'Answer with one JSON object and with nothing else.';

/**
 * Converts a chat request to a request for a message, without the reasoning effort. Seeds, penalties, log probabilities and
 * several choices have no counterpart. A temperature above 1 becomes 1, and `top_p` is dropped alongside a temperature, because
 * models accept only one of them.
 */
export function fromChatRequest(request: ChatRequest): MessagesRequest {
  const { system, turns } = fromChatMessages(request.messages);
  const { response_format: format, temperature, stop, stream } = request;
  const lines = [...system, ...(format?.type === 'json_object' ? [{ type: 'text', text: jsonLine }] : [])];
  const isMarked = lines.some(({ cache_control: mark }: Block) => mark);
  const schema = format?.type === 'json_schema' ? format.json_schema.schema : undefined;
  const hasTemperature = typeof temperature === 'number';
  return {
    model: request.model,
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens,
    ...(lines.length > 0 && { system: isMarked ? lines : paragraphs(lines) }),
    messages: turns,
    ...(hasTemperature && { temperature: Math.min(1, temperature) }),
    ...(!hasTemperature && typeof request.top_p === 'number' && { top_p: request.top_p }),
    ...(typeof request.top_k === 'number' && { top_k: request.top_k }),
    ...(stop?.length && { stop_sequences: [stop].flat() }),
    ...toolsOf(request),
    ...(schema !== undefined && { output_config: { format: { type: 'json_schema', schema } } }),
    ...(stream === true && { stream }),
    ...markOf(request),
  };
}

function toolsOf({
  tools,
  tool_choice: choice,
  parallel_tool_calls: isParallel,
}: ChatRequest): Pick<MessagesRequest, 'tools' | 'tool_choice'> {
  if (!tools?.length) return {};
  const alone = isParallel === false && choice !== 'none';
  const hasChoice = (choice ?? null) !== null || alone;
  return {
    tools: tools.map(toTool),
    ...(hasChoice && {
      tool_choice: { ...toChoice(choice ?? 'auto'), ...(alone && { disable_parallel_tool_use: true }) },
    }),
  };
}

function toTool(tool: Tool): MessagesTool {
  const { name, description, parameters, strict } = tool.function;
  const schema = fieldsOf(parameters);
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: 'type' in schema ? schema : { ...schema, type: 'object' },
    ...(strict === true && { strict }),
    ...markOf(tool.function),
    ...markOf(tool),
  };
}

function toChoice(choice: ToolChoice): MessagesToolChoice {
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name };
  return { type: choice === 'required' ? 'any' : choice };
}

import type { ChatRequest, ResponseFormat } from '../../chat/chat.ts';
import type { Places } from '../../places.ts';
import { type OwnNames, ownNames, toChatTool, toolsInEffect } from '../client-tools.ts';
import { asFunctionCalls } from '../custom-calls.ts';
import type { ResponsesRequest, TextFormat } from '../responses.ts';
import { toChatMessages } from './to-chat-messages.ts';
import type { PlacedItem, PlacedMessage } from './to-chat-messages.ts';

/**
 * A request in the canonical form, and where its parts stood. What no engine is asked for (`metadata`, `store`,
 * `truncation` and the like) stays behind; `wire-formats.md`, section 2, has the table.
 * @param items the whole conversation: what came before, then the input
 */
export function toChatRequest(
  request: ResponsesRequest,
  items: readonly PlacedItem[],
): { chat: ChatRequest; places: Places; own: OwnNames } {
  const { found, choice } = toolsInEffect(request, items);
  const messages = withInstructions(request.instructions, toChatMessages(asFunctionCalls(items, found)));
  const format = request.text?.format;
  const topLogprobs = request.top_logprobs ?? 0;
  const logprobs = topLogprobs > 0 || request.include?.includes('message.output_text.logprobs') === true;
  const tools = found.map(({ fields }) => toChatTool(fields));
  const chat: ChatRequest = {
    model: request.model,
    messages: messages.map(({ message }) => message),
    ...(tools.length > 0 && { tools, tool_choice: choice }),
    ...(format && format.type !== 'text' && { response_format: toChatFormat(format) }),
    ...given('max_completion_tokens', request.max_output_tokens),
    ...given('temperature', request.temperature),
    ...given('top_p', request.top_p),
    ...given('parallel_tool_calls', tools.length > 0 ? request.parallel_tool_calls : null),
    ...given('reasoning_effort', request.reasoning?.effort),
    ...given('verbosity', request.text?.verbosity),
    ...(logprobs && { logprobs: true, top_logprobs: topLogprobs }),
  };
  const places: Places = new Map<object | string, string>([
    ...messages.map(({ message, path }) => [message, path] as const),
    ...tools.map((tool, index) => [tool.function, found[index]!.path] as const),
    ['max_completion_tokens', 'max_output_tokens'],
    ['reasoning_effort', 'reasoning.effort'],
    ['response_format', 'text.format'],
  ]);
  if (chat.response_format?.type === 'json_schema')
    places.set(chat.response_format.json_schema, 'text.format');
  return { chat, places, own: ownNames(found) };
}

function given(name: string, value: unknown): object {
  return value === undefined || value === null ? {} : { [name]: value };
}

/** One system message at the start: many chat templates take no second one. Later ones stay where they are. */
function withInstructions(
  instructions: string | null | undefined,
  messages: PlacedMessage[],
): PlacedMessage[] {
  const first = messages.findIndex(({ message }) => !isSystem(message.role));
  const leading = messages.slice(0, first < 0 ? messages.length : first);
  const texts = [instructions ?? '', ...leading.map(({ message }) => message.content as string)].filter(
    (text) => text !== '',
  );
  if (texts.length === 0) return messages.slice(leading.length);
  const path = instructions ? 'instructions' : (leading[0]?.path ?? 'instructions');
  return [
    { message: { role: 'system', content: texts.join('\n\n') }, path },
    ...messages.slice(leading.length),
  ];
}

function isSystem(role: string): boolean {
  return role === 'system' || role === 'developer';
}

function toChatFormat(format: Exclude<TextFormat, { type: 'text' }>): ResponseFormat {
  if (format.type === 'json_object') return format;
  const { name, schema, strict, description } = format;
  return {
    type: 'json_schema',
    json_schema: {
      name,
      schema,
      ...(typeof strict === 'boolean' && { strict }),
      ...(typeof description === 'string' && { description }),
    },
  };
}

import { omitNullish } from '../../../base/fields.ts';
import type { ChatRequest, ResponseFormat } from '../../chat/chat.ts';
import { functionTool } from '../../chat/request/canonical.ts';
import type { PathMap } from '../../shared/path-map.ts';
import { type ClientTool, type ClientNames, clientNames, toolsInEffect } from '../client-tools.ts';
import { toFunctionCalls } from '../custom-calls.ts';
import type { ResponsesRequest, TextFormat } from '../responses.ts';
import { type PlacedItem, type PlacedMessage, toChatMessages } from './to-chat-messages.ts';

/**
 * Converts a request to a chat request. Fields that concern no engine (`metadata`, `store`, `truncation` ...) are dropped.
 * @param items whole conversation, ending with the input
 * @returns `paths` creates the map of original paths, which only errors need
 */
export function toChatRequest(
  request: ResponsesRequest,
  items: readonly PlacedItem[],
): { chat: ChatRequest; paths: () => PathMap; clientNames: ClientNames } {
  const { found, choice } = toolsInEffect(request, items);
  const messages = withInstructions(request.instructions, toChatMessages(toFunctionCalls(items, found)));
  const { max_output_tokens, temperature, top_p, parallel_tool_calls, reasoning, text } = request;
  const topLogprobs = request.top_logprobs ?? 0;
  const tools = found.map(({ fields }) => functionTool(fields));
  const chat: ChatRequest = { model: request.model, messages: messages.map(({ message }) => message) };
  if (tools.length > 0) {
    chat.tools = tools;
    chat.tool_choice = choice;
    if (isGiven(parallel_tool_calls)) chat.parallel_tool_calls = parallel_tool_calls;
  }
  if (text?.format && text.format.type !== 'text') chat.response_format = toChatFormat(text.format);
  if (isGiven(max_output_tokens)) chat.max_completion_tokens = max_output_tokens;
  if (isGiven(temperature)) chat.temperature = temperature;
  if (isGiven(top_p)) chat.top_p = top_p;
  if (isGiven(reasoning?.effort)) chat.reasoning_effort = reasoning.effort;
  if (isGiven(text?.verbosity)) chat['verbosity'] = text.verbosity;
  if (topLogprobs > 0 || request.include?.includes('message.output_text.logprobs')) {
    chat.logprobs = true;
    chat.top_logprobs = topLogprobs;
  }
  const paths = () => pathMap(chat, messages, found);
  return { chat, paths, clientNames: clientNames(found) };
}

function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

function pathMap(
  { tools = [], response_format: format }: ChatRequest,
  messages: readonly PlacedMessage[],
  found: readonly ClientTool[],
): PathMap {
  const paths: PathMap = new Map([
    ['max_completion_tokens', 'max_output_tokens'],
    ['reasoning_effort', 'reasoning.effort'],
    ['response_format', 'text.format'],
  ]);
  for (const { message, path } of messages) paths.set(message, path);
  for (const [index, tool] of tools!.entries()) paths.set(tool.function, found[index]!.path);
  if (format?.type === 'json_schema') paths.set(format.json_schema, 'text.format');
  return paths;
}

/** Merges leading system messages into one, because many chat templates allow no second. Later ones stay in place. */
function withInstructions(
  instructions: string | null | undefined,
  messages: PlacedMessage[],
): PlacedMessage[] {
  const first = messages.findIndex(({ message: { role } }) => role !== 'system' && role !== 'developer');
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

function toChatFormat(format: Exclude<TextFormat, { type: 'text' }>): ResponseFormat {
  if (format.type === 'json_object') return format;
  const { name, schema, strict, description } = format;
  return { type: 'json_schema', json_schema: { name, schema, ...omitNullish({ strict, description }) } };
}

import { omitNullish } from '../../../base/fields.ts';
import type { ChatRequest, Tool, ToolChoice } from '../../chat/chat.ts';
import { functionTool } from '../../chat/request/canonical.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { MessagesRequest, MessagesTool, MessagesToolChoice } from '../messages.ts';
import { findDefinition, isDefinedTool } from './defined-tools.ts';
import { toolsInEffect } from './tools-in-effect.ts';

/** True if the client runs the tool. Others, such as `web_search_20250305`, would run on the server. */
export function isClientTool(tool: MessagesTool): boolean {
  return (tool.type ?? 'custom') === 'custom' || isDefinedTool(tool);
}

/** Converts tools and tool choice; empty without a callable tool. */
export function toChatTools(
  request: MessagesRequest,
  paths: PathMap,
): Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const tools: Tool[] = [];
  const { tool_choice: choice } = request;
  for (const { tool, path } of toolsInEffect(request)) {
    if (!isClientTool(tool)) continue;
    const definition = findDefinition(tool);
    const { name, description, input_schema, strict } = { ...tool, ...definition };
    const converted = {
      ...functionTool({ name, description, parameters: input_schema, strict }),
      ...omitNullish({ cache_control: tool.cache_control }),
    };
    paths.set(converted, path).set(converted.function, path);
    if (!definition) paths.set(converted.function.parameters as object, `${path}.input_schema`);
    tools.push(converted);
  }
  if (tools.length === 0) return {};
  return {
    tools,
    ...(choice && { tool_choice: choices[choice.type](choice.name ?? '') }),
    ...(choice?.disable_parallel_tool_use === true && { parallel_tool_calls: false }),
  };
}

const choices: Record<MessagesToolChoice['type'], (name: string) => ToolChoice> = {
  auto: () => 'auto',
  none: () => 'none',
  any: () => 'required',
  tool: (name) => ({ type: 'function', function: { name } }),
};

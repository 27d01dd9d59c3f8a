import { fieldsOf, parseOrUndefined } from '../../../../base/fields.ts';
import { invalid } from '../../../../core/errors.ts';
import type { ChatMessage, ContentPart, Tool, ToolCall } from '../../../../wire/chat/chat.ts';

/** Message as chat templates expect it: plain text, arguments as an object. */
export interface TemplateMessage {
  role: string;
  content: string;
  name?: string;
  tool_call_id?: string;
  reasoning_content?: string;
  /** Same as `reasoning_content`, for templates with channels. */
  thinking?: string;
  /** Tools as JSON, for templates that read them from the system message. */
  tools?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: unknown } }[];
}

/** @throws ApiError `validation_error` for content other than text */
export function toTemplateMessages(messages: readonly ChatMessage[]): TemplateMessage[] {
  return messages.map((message, index) => {
    const templated: TemplateMessage = {
      role: roles[message.role] ?? message.role,
      content: flatten(message.content ?? message.refusal ?? '', `messages[${index}].content`),
    };
    if (message.name !== undefined) templated.name = message.name;
    if (message.tool_call_id !== undefined) templated.tool_call_id = message.tool_call_id;
    const reasoning = message.reasoning_content ?? message.reasoning;
    if (reasoning) Object.assign(templated, { reasoning_content: reasoning, thinking: reasoning });
    if (message.tool_calls?.length) templated.tool_calls = message.tool_calls.map(toTemplateCall);
    return templated;
  });
}

/** Newer roles that templates lack. */
const roles: Partial<Record<ChatMessage['role'], string>> = { developer: 'system' };

function flatten(content: string | ContentPart[], param: string): string {
  if (typeof content === 'string') return content;
  const texts = content.map((part, index) => {
    const text = part.text ?? part.refusal;
    if (typeof text === 'string') return text;
    throw invalid(`${param}[${index}].type`, `this model reads text only, not ${JSON.stringify(part.type)}`);
  });
  return texts.join('');
}

function toTemplateCall(call: ToolCall): NonNullable<TemplateMessage['tool_calls']>[number] {
  const { name, arguments: text } = call.function;
  const given = parseOrUndefined(text);
  // Invalid arguments of an earlier answer stay text.
  return { id: call.id, type: 'function', function: { name, arguments: given === undefined ? text : given } };
}

/** Adds an object of parameters to each tool, which templates iterate over. */
export function toTemplateTools(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) => {
    const given = fieldsOf(tool.function.parameters ?? { type: 'object' });
    const parameters = { ...given, properties: fieldsOf(given['properties']) };
    return { type: 'function', function: { ...tool.function, parameters } };
  });
}

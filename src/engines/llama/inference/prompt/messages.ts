import { fieldsOf, parseOrUndefined } from '../../../../base/fields.ts';
import { invalid } from '../../../../core/errors.ts';
import type { ChatMessage, ContentPart, Tool, ToolCall } from '../../../../wire/chat/chat.ts';

/** A message in the form chat templates are written for: plain text, arguments as an object. */
export interface TemplateMessage {
  role: string;
  content: string;
  name?: string;
  tool_call_id?: string;
  reasoning_content?: string;
  /** The same, by the name that templates with channels give it. */
  thinking?: string;
  /** For templates that look for the tools here, as JSON. */
  tools?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: unknown } }[];
}

/** Throws 422 `validation_error` for content other than text. */
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

/** Roles that newer dialects have and templates do not know. */
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
  // A model once wrote broken arguments; the template shows them as they were.
  return { id: call.id, type: 'function', function: { name, arguments: given === undefined ? text : given } };
}

/** Tools with a parameter object that templates can walk through. */
export function toTemplateTools(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) => {
    const given = fieldsOf(tool.function.parameters ?? { type: 'object' });
    const parameters = { ...given, properties: fieldsOf(given['properties']) };
    return { type: 'function', function: { ...tool.function, parameters } };
  });
}

import { quoted } from '../../json/parse.ts';
import { checkToolNames } from '../../shared/tool-names.ts';
import { type AddFault, parseBody, type ReportFields, validator } from '../../schema/validate.ts';
import type { BodyMessage, ChatBody } from './body.ts';
import { canonicalChat, toolName } from './canonical.ts';
import { chatRequestSchema } from './request-schema.ts';

/**
 * Reads a chat completion request in canonical form, and as received.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseChatRequest(text: string, report?: ReportFields) {
  const received = parseBody<ChatBody>(text, checkChatRequest, report);
  return { ...canonicalChat(received), received };
}

/** Checks a parsed body of a request or of a batch line. */
export const checkChatRequest = validator(chatRequestSchema, (request: ChatBody, add) => {
  if (typeof request.top_logprobs === 'number' && request.logprobs !== true)
    add('top_logprobs', 'requires logprobs: true');
  if (request.tools || request.tool_choice) checkTools(request, add);
  if (request.functions || request.function_call) checkFunctions(request, add);
  checkMessages(request.messages, add);
});

function checkTools({ tools, tool_choice: choice }: ChatBody, add: AddFault): void {
  if (!tools && !choice) return;
  const given = (tools ?? []).map((tool, index) => {
    const path = `tools[${index}]`;
    return { name: toolName(tool), path, namePath: `${path}.${tool.type}.name` };
  });
  const names = checkToolNames(given, add);
  if (choice === 'required' && names.size === 0) add('tool_choice', '"required" needs at least one tool');
  if (typeof choice !== 'object' || choice === null) return;
  if (choice.type !== 'allowed_tools') {
    const name = toolName(choice)!;
    if (!(tools ?? []).some((tool) => tool.type === choice.type && toolName(tool) === name))
      add(`tool_choice.${choice.type}.name`, `no tool is named ${quoted(name)}`);
    return;
  }
  const { mode, tools: allowed } = choice.allowed_tools;
  const isDefined = (entry: (typeof allowed)[number]) =>
    (tools ?? []).some((tool) => tool.type === entry.type && toolName(tool) === toolName(entry));
  if (mode === 'required' && !allowed.some(isDefined))
    add('tool_choice.allowed_tools.tools', 'none of these tools is in tools');
}

function checkFunctions(request: ChatBody, add: AddFault): void {
  const { functions, function_call: choice } = request;
  if (!functions && !choice) return;
  const hasTools = (request.tools ?? request.tool_choice ?? null) !== null;
  if (hasTools) return add(functions ? 'functions' : 'function_call', 'cannot be combined with tools');
  const defined = (functions ?? []).map(({ name }, index) => ({ name, path: `functions[${index}]` }));
  const names = checkToolNames(defined, add);
  if (typeof choice === 'object' && choice !== null && !names.has(choice.name))
    add('function_call.name', `no function is named ${quoted(choice.name)}`);
}

function checkMessages(messages: BodyMessage[], add: AddFault): void {
  let calls: Set<string> | undefined;
  let functions: Set<string> | undefined;
  for (const [index, message] of messages.entries()) {
    const { role, name, tool_call_id: id, function_call: call } = message;
    if (role === 'assistant') {
      for (const each of message.tool_calls ?? []) (calls ??= new Set()).add(each.id);
      if (call) (functions ??= new Set()).add(call.name);
      if (call && message.tool_calls?.length)
        add(`messages[${index}].function_call`, 'cannot be combined with tool_calls');
      else if (isEmpty(message))
        add(`messages[${index}].content`, 'an assistant message needs content, tool_calls or a refusal');
    } else if (role === 'tool' && !calls?.has(id!))
      add(`messages[${index}].tool_call_id`, `no earlier assistant message has the tool call ${quoted(id!)}`);
    else if (role === 'function' && !functions?.has(name!))
      add(`messages[${index}].name`, `no earlier assistant message calls ${quoted(name!)}`);
  }
}

function isEmpty(message: BodyMessage): boolean {
  const { content, refusal, reasoning, reasoning_content: thought, reasoning_details: details } = message;
  const hasText = (content ?? refusal ?? reasoning ?? thought ?? details ?? undefined) !== undefined;
  return !hasText && !message.function_call && (message.tool_calls ?? []).length === 0;
}

import { quoted } from '../../json/parse.ts';
import { checkToolNames } from '../../shared/tool-names.ts';
import { type AddFault, parseBody, validator } from '../../schema/validate.ts';
import type { BodyMessage, ChatBody } from './body.ts';
import { canonicalChat, toolName } from './canonical.ts';
import { chatRequestSchema } from './request-schema.ts';

/**
 * Reads a chat completion request, and makes it canonical.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseChatRequest(text: string) {
  return canonicalChat(parseBody<ChatBody>(text, checkChatRequest));
}

/** Every fault of a parsed body; paths start at the body. Also the rule for a batch line's body. */
export const checkChatRequest = validator(chatRequestSchema, checkAgreement);

function checkAgreement(request: ChatBody, add: AddFault): void {
  if (typeof request.top_logprobs === 'number' && request.logprobs !== true)
    add('top_logprobs', 'needs logprobs: true');
  if (request.tools || request.tool_choice) checkTools(request, add);
  if (request.functions || request.function_call) checkFunctions(request, add);
  checkMessages(request.messages, add);
}

function checkTools({ tools, tool_choice: choice }: ChatBody, add: AddFault): void {
  if (!tools && !choice) return;
  const given = (tools ?? []).map((tool, index) => {
    const path = `tools[${index}]`;
    return { name: toolName(tool), path, namePath: `${path}.${tool.type}.name` };
  });
  const names = checkToolNames(given, add);
  if (choice === 'required' && names.size === 0) add('tool_choice', '"required" needs tools');
  if (typeof choice !== 'object' || choice === null) return;
  if (choice.type !== 'allowed_tools') {
    const name = toolName(choice)!;
    if (!(tools ?? []).some((tool) => tool.type === choice.type && toolName(tool) === name))
      add(`tool_choice.${choice.type}.name`, `${quoted(name)} is not among the tools`);
    return;
  }
  const { mode, tools: allowed } = choice.allowed_tools;
  const isThere = (one: (typeof allowed)[number]) =>
    (tools ?? []).some((tool) => tool.type === one.type && toolName(tool) === toolName(one));
  if (mode === 'required' && !allowed.some(isThere))
    add('tool_choice.allowed_tools.tools', 'none of them is among the tools');
}

function checkFunctions(request: ChatBody, add: AddFault): void {
  const { functions, function_call: choice } = request;
  if (!functions && !choice) return;
  const hasTools = (request.tools ?? request.tool_choice ?? null) !== null;
  if (hasTools)
    return add(functions ? 'functions' : 'function_call', 'cannot be mixed with tools: use one of the two');
  const defined = (functions ?? []).map(({ name }, index) => ({ name, path: `functions[${index}]` }));
  const names = checkToolNames(defined, add);
  if (typeof choice === 'object' && choice !== null && !names.has(choice.name))
    add('function_call.name', `${quoted(choice.name)} is not among the functions`);
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
        add(`messages[${index}].function_call`, 'cannot be mixed with tool_calls: use one of the two');
      else if (isSilent(message))
        add(`messages[${index}].content`, 'an assistant message needs content, tool_calls or a refusal');
    } else if (role === 'tool' && !calls?.has(id!))
      add(
        `messages[${index}].tool_call_id`,
        `no assistant message before this one made the call ${quoted(id!)}`,
      );
    else if (role === 'function' && !functions?.has(name!))
      add(`messages[${index}].name`, `no assistant message before this one called ${quoted(name!)}`);
  }
}

function isSilent(message: BodyMessage): boolean {
  const { content, refusal, reasoning, reasoning_content: thought, reasoning_details: details } = message;
  const says = (content ?? refusal ?? reasoning ?? thought ?? details ?? undefined) !== undefined;
  return !says && !message.function_call && (message.tool_calls ?? []).length === 0;
}

import type { Fault } from '../../core/errors.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson, quoted } from '../json/parse.ts';
import { faultsError, validator } from '../validate.ts';
import type { ChatMessage, ChatRequest } from './chat.ts';
import { chatRequestSchema } from './request-schema.ts';

const checkShape = validator(chatRequestSchema);

/**
 * Reads a chat completion request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseChatRequest(text: string): JsonBody<ChatRequest> {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = checkChatRequest(value);
  if (faults.length > 0) throw faultsError(faults);
  return { value: value as ChatRequest, text };
}

/** Every fault of a parsed body; paths start at the body. Also the rule for a batch line's body. */
export function checkChatRequest(value: unknown): Fault[] {
  const faults = checkShape(value);
  return faults.length > 0 ? faults : checkAgreement(value as ChatRequest);
}

/** What no schema can say: fields that must agree with each other. */
function checkAgreement(request: ChatRequest): Fault[] {
  const faults: Fault[] = [];
  const add = (param: string, message: string) => faults.push({ param, code: 'validation_error', message });
  if (typeof request.top_logprobs === 'number' && request.logprobs !== true)
    add('top_logprobs', 'needs logprobs: true');
  checkTools(request, add);
  checkMessages(request.messages, add);
  return faults;
}

type Add = (param: string, message: string) => void;

function checkTools(request: ChatRequest, add: Add): void {
  if (!request.tools && !request.tool_choice) return;
  const names = new Map<string, number>();
  for (const [index, tool] of (request.tools ?? []).entries()) {
    const { name } = tool.function;
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else add(`tools[${index}].function.name`, `${quoted(name)} is already the name of tools[${first}]`);
  }
  const choice = request.tool_choice;
  if (choice === 'required' && names.size === 0) add('tool_choice', '"required" needs tools');
  if (typeof choice === 'object' && choice !== null && !names.has(choice.function.name))
    add('tool_choice.function.name', `${quoted(choice.function.name)} is not among the tools`);
}

function checkMessages(messages: ChatMessage[], add: Add): void {
  const calls = new Set<string>();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]!;
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) calls.add(call.id);
      if (isSilent(message))
        add(`messages[${index}].content`, 'an assistant message needs content, tool_calls or a refusal');
    } else if (message.role === 'tool' && !calls.has(message.tool_call_id!))
      add(
        `messages[${index}].tool_call_id`,
        `no assistant message before this one made the call ${quoted(message.tool_call_id!)}`,
      );
  }
}

function isSilent(message: ChatMessage): boolean {
  const { content, refusal, reasoning, reasoning_content: thought } = message;
  const says = (content ?? refusal ?? reasoning ?? thought ?? undefined) !== undefined;
  return !says && (message.tool_calls ?? []).length === 0;
}

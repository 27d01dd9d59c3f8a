import { ApiError } from '../../../core/errors.ts';
import { parseExact } from '../../json/exact-numbers.ts';
import { parseJson, quoted } from '../../json/parse.ts';
import { checkToolNames } from '../../shared/tool-names.ts';
import {
  type AddFault,
  faultsError,
  type ReportFields,
  type Validator,
  validator,
} from '../../schema/validate.ts';
import type { Block, MessagesRequest } from '../messages.ts';
import { countTokensRequestSchema, messagesRequestSchema } from './request-schema.ts';
import { isClientTool } from './to-chat-tools.ts';
import { toolsInEffect } from './tools-in-effect.ts';

export const checkMessagesRequest = validator(messagesRequestSchema, checkAgreement);
const checkPrompt = validator(countTokensRequestSchema, checkAgreement);

/**
 * Reads the body of `POST /v1/messages`.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found, `thread_not_found` (404)
 */
export function parseMessagesRequest(text: string, report?: ReportFields): MessagesRequest {
  return read(text, checkMessagesRequest, report);
}

/** Reads the body of `POST /v1/messages/count_tokens`, where `max_tokens` is optional. Throws like `parseMessagesRequest`. */
export function parseCountTokensRequest(text: string, report?: ReportFields): MessagesRequest {
  return read(text, checkPrompt, report);
}

function read(text: string, check: Validator, report?: ReportFields): MessagesRequest {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = check(value);
  const [first] = faults;
  if (first?.code === 'thread_not_found')
    throw new ApiError(first.code, first.message, { param: 'thread', faults });
  if (first) throw faultsError(faults);
  report?.(value as object, check.known);
  return withExactInputs(value as MessagesRequest, text);
}

/**
 * The official client starts a thread with every conversation, which is ignored. When it continues one, this error code makes
 * it send the whole conversation again.
 */
const noThread = 'Threads are not stored here. Send all messages of the conversation.';

function checkAgreement(request: MessagesRequest, add: AddFault): void {
  if (request.thread?.type === 'continue') return add('thread', noThread, 'thread_not_found');
  checkTools(request, add);
  checkResults(request, add);
}

function checkTools(request: MessagesRequest, add: AddFault): void {
  const { tools, tool_choice: choice } = request;
  const given = (tools ?? []).map((tool, index) => ({
    name: isClientTool(tool) ? tool.name : undefined,
    path: `tools[${index}]`,
  }));
  checkToolNames(given, add);
  const callable = toolsInEffect(request).flatMap(({ tool }) => (isClientTool(tool) ? tool.name : []));
  const names = new Set(callable);
  if (choice?.type === 'any' && names.size === 0)
    add('tool_choice', '"any" needs a tool that the client runs; server tools are not supported');
  if (choice?.type === 'tool' && !names.has(choice.name!))
    add('tool_choice.name', `no callable tool is named ${quoted(choice.name!)}`);
}

/** Every result must answer an earlier call. */
function checkResults({ messages }: MessagesRequest, add: AddFault): void {
  const calls = new Set<string>();
  for (const [at, { role, content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [index, block] of content.entries()) {
      if (role === 'assistant' && block.type === 'tool_use') calls.add(block.id!);
      if (role === 'user' && block.type === 'tool_result' && !calls.has(block.tool_use_id!))
        add(
          `messages[${at}].content[${index}].tool_use_id`,
          `no earlier assistant turn has the call ${quoted(block.tool_use_id!)}`,
        );
    }
  }
}

/** Restores every digit in the inputs of earlier calls, which the model gets back as text. */
export function withExactInputs(request: MessagesRequest, text: string): MessagesRequest {
  if (!/\d{16}/.test(text)) return request;
  let exact: MessagesRequest | undefined;
  const messages = request.messages.map((turn, at) => {
    if (turn.role !== 'assistant' || typeof turn.content === 'string') return turn;
    const content = turn.content.map((block, index) => {
      if (block.type !== 'tool_use') return block;
      exact ??= parseExact(text) as MessagesRequest;
      return (exact.messages[at]!.content as Block[])[index]!;
    });
    return { ...turn, content };
  });
  return { ...request, messages };
}

import { ApiError } from '../../../core/errors.ts';
import { parseExact } from '../../json/exact-numbers.ts';
import { parseJson, quoted } from '../../json/parse.ts';
import { checkToolNames } from '../../shared/tool-names.ts';
import { type AddFault, faultsError, type Validator, validator } from '../../schema/validate.ts';
import type { Block, MessagesRequest } from '../messages.ts';
import { countTokensRequestSchema, messagesRequestSchema } from './request-schema.ts';
import { isClientTool } from './to-chat-tools.ts';
import { toolsInEffect } from './tools-in-effect.ts';

/** Every fault of a parsed body; paths start at the body. */
export const checkMessagesRequest = validator(messagesRequestSchema, checkAgreement);
const checkPrompt = validator(countTokensRequestSchema, checkAgreement);

/**
 * Reads the body of `POST /v1/messages`.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found, `thread_not_found` (404)
 */
export function parseMessagesRequest(text: string): MessagesRequest {
  return read(text, checkMessagesRequest);
}

/** Reads the body of `POST /v1/messages/count_tokens`, which needs no `max_tokens`. Throws as the other. */
export function parseCountTokensRequest(text: string): MessagesRequest {
  return read(text, checkPrompt);
}

function read(text: string, check: Validator): MessagesRequest {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = check(value);
  const [first] = faults;
  if (first?.code === 'thread_not_found')
    throw new ApiError(first.code, first.message, { param: 'thread', faults });
  if (first) throw faultsError(faults);
  return withExactInputs(value as MessagesRequest, text);
}

/**
 * Conversations are not kept, so only their newest turn would be read. By this code the official client sends the whole
 * conversation again; it asks to begin a thread with every new conversation, which costs nothing to let pass.
 */
const noThread = 'There is no such thread: conversations are not kept here. Send all of its messages.';

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
    add('tool_choice', '"any" needs tools of the client\'s own: others are not run here');
  if (choice?.type === 'tool' && !names.has(choice.name!))
    add('tool_choice.name', `${quoted(choice.name!)} is not among the tools that can be called here`);
}

/** A result answers a call made before it. */
function checkResults({ messages }: MessagesRequest, add: AddFault): void {
  const calls = new Set<string>();
  for (const [at, { role, content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [index, block] of content.entries()) {
      if (role === 'assistant' && block.type === 'tool_use') calls.add(block.id!);
      if (role === 'user' && block.type === 'tool_result' && !calls.has(block.tool_use_id!))
        add(
          `messages[${at}].content[${index}].tool_use_id`,
          `no turn of the assistant before this one made the call ${quoted(block.tool_use_id!)}`,
        );
    }
  }
}

/** A checked request; inputs of earlier calls go back to the model as text, of which every digit counts. */
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

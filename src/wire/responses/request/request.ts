import { invalid } from '../../../core/errors.ts';
import type { JsonBody } from '../../json/json-body.ts';
import { quoted } from '../../json/parse.ts';
import { checkToolNames } from '../../shared/tool-names.ts';
import { type AddFault, faultsError, collectFaults, parseBody, validator } from '../../schema/validate.ts';
import { readSummary } from '../compaction.ts';
import { chosenName, clientTools, toolKey, listTools, matchesChoice } from '../client-tools.ts';
import { answeredCallId, calledType, resultType } from '../defined-tools.ts';
import { refusalFor } from '../other-items.ts';
import { itemsWithTools } from '../stored-items.ts';
import { chatLimits } from '../../chat/request/request-schema.ts';
import { responsesRequestSchema } from './request-schema.ts';
import type { ResponsesRequest, StoredItem } from '../responses.ts';
import type { PlacedItem } from './to-chat-messages.ts';

/**
 * Reads a request to `/v1/responses`.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseResponsesRequest(text: string): JsonBody<ResponsesRequest> {
  return parseBody(text, checkResponsesRequest);
}

export const checkResponsesRequest = validator(responsesRequestSchema, checkAgreement);

function checkAgreement(request: ResponsesRequest, add: AddFault): void {
  checkTools(request, add);
  if (request.background && request.store === false)
    add('store', 'what is made in the background is stored: leave store out, or make it true');
  if (conversationOf(request) !== null && typeof request.previous_response_id === 'string')
    add('conversation', 'cannot be given together with previous_response_id: each says what came before');
}

/** The id of the conversation that a response is to be made in. */
export function conversationOf({ conversation }: ResponsesRequest): string | null {
  return typeof conversation === 'object' ? (conversation?.id ?? null) : (conversation ?? null);
}

function checkTools(request: ResponsesRequest, add: AddFault): void {
  const given = [...listTools(request.tools, 'tools')];
  checkToolNames(
    given.map(({ clientName, path }) => ({ name: clientName.name, path, key: toolKey(clientName) })),
    add,
  );
  const tools = clientTools(request, itemsWithTools(request));
  if (tools.length > chatLimits.tools)
    add('tools', `expected at most ${chatLimits.tools} items, got ${tools.length} with those in input`);
  const choice = request.tool_choice;
  if (choice === 'required' && tools.length === 0)
    add('tool_choice', '"required" needs a function among the tools');
  if (typeof choice !== 'object' || choice === null) return;
  if (choice.type === 'allowed_tools') {
    const isSome = tools.some((tool) => choice.tools?.some((entry) => matchesChoice(entry, tool)));
    if (choice.mode === 'required' && !isSome)
      add('tool_choice.tools', 'none of them is among the functions of tools');
  } else if (!tools.some((tool) => matchesChoice(choice, tool))) {
    const path = choice.function ? 'tool_choice.function.name' : 'tool_choice.name';
    add(path, `${quoted(chosenName(choice))} is not among the functions of tools`);
  }
}

const calling = new Set(['function_call', 'custom_tool_call', 'computer_call', 'program']);
const answering = new Set(['function_call_output', 'custom_tool_call_output']);
/** Outputs whose calls may be stored at a server that speaks this format. */
const answeringThere = new Set(['computer_call_output', 'program_output']);
const saying = new Set(['message', 'compaction', 'agent_message']);

const isCall = (item: StoredItem) => calling.has(item.type) || calledType(item) !== undefined;
const isResult = (item: StoredItem) => answering.has(item.type) || resultType(item) !== undefined;

/**
 * What only the whole conversation can tell: a result needs its call, and something must be there to be answered.
 * @throws ApiError `validation_error` (422)
 */
export function requireConversation(items: readonly PlacedItem[]): void {
  requireCalls(items, isResult);
  const said = items.some(
    ({ item }) => saying.has(item.type) || answeringThere.has(item.type) || isResult(item),
  );
  if (!said) throw invalid('input', 'holds no message to be answered');
}

function requireCalls(items: readonly PlacedItem[], isOne: (item: StoredItem) => boolean): void {
  const calls = new Set<string>();
  const faults = collectFaults((add) => {
    for (const { item, path } of items) {
      if (isCall(item)) calls.add(item.call_id!);
      else if (isOne(item) && !calls.has(answeredCallId(item)))
        add(`${path}.call_id`, `no call before this one has the call_id ${quoted(answeredCallId(item))}`);
    }
  });
  if (faults.length > 0) throw faultsError(faults);
}

/**
 * Finds items that only another server can read: a translated conversation would lose them.
 * @throws ApiError `validation_error` (422)
 */
export function requireReadable(items: readonly PlacedItem[]): void {
  for (const { item, path } of items) {
    const refusal = refusalFor(item);
    if (refusal) throw invalid(`${path}.type`, `${quoted(item.type)}: ${refusal}`);
  }
  requireCalls(items, ({ type }) => answeringThere.has(type));
  const foreign = items.find(({ item }) => item.type === 'compaction' && readSummary(item) === undefined);
  if (foreign)
    throw invalid(
      `${foreign.path}.encrypted_content`,
      'another server made this summary, and only that one can read it: send the conversation itself, or compact it here',
    );
}

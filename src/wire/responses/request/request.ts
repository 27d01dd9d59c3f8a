import { invalid } from '../../../core/errors.ts';
import type { JsonBody } from '../../json/json-body.ts';
import { quoted } from '../../json/parse.ts';
import { choiceParam, type Query, textParam } from '../../shared/query-params.ts';
import { checkToolNames } from '../../shared/tool-names.ts';
import {
  type AddFault,
  faultsError,
  collectFaults,
  parseBody,
  type ReportFields,
  validator,
} from '../../schema/validate.ts';
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
export function parseResponsesRequest(text: string, report?: ReportFields): JsonBody<ResponsesRequest> {
  return parseBody(text, checkResponsesRequest, report);
}

export const checkResponsesRequest = validator(responsesRequestSchema, (request: ResponsesRequest, add) => {
  checkTools(request, add);
  if (request.background && request.store === false)
    add('store', 'background responses are always stored: leave store out, or set it to true');
  if (conversationOf(request) !== null && typeof request.previous_response_id === 'string')
    add('conversation', 'cannot be combined with previous_response_id');
});

/** Id of the conversation that a response belongs to. */
export function conversationOf({ conversation }: ResponsesRequest): string | null {
  return typeof conversation === 'object' ? (conversation?.id ?? null) : (conversation ?? null);
}

function checkTools(request: ResponsesRequest, add: AddFault): void {
  const listed = [...listTools(request.tools, 'tools')];
  checkToolNames(
    listed.map(({ clientName, path }) => ({ name: clientName.name, path, key: toolKey(clientName) })),
    add,
  );
  const tools = clientTools(request, itemsWithTools(request));
  if (tools.length > chatLimits.tools)
    add('tools', `expected at most ${chatLimits.tools} items, got ${tools.length} with those in input`);
  const choice = request.tool_choice;
  if (choice === 'required' && tools.length === 0)
    add('tool_choice', '"required" needs at least one function in tools');
  if (typeof choice !== 'object' || choice === null) return;
  if (choice.type === 'allowed_tools') {
    const isAllowed = tools.some((tool) => choice.tools?.some((entry) => matchesChoice(entry, tool)));
    if (choice.mode === 'required' && !isAllowed)
      add('tool_choice.tools', 'none of these is a function in tools');
  } else if (!tools.some((tool) => matchesChoice(choice, tool))) {
    const path = choice.function ? 'tool_choice.function.name' : 'tool_choice.name';
    add(path, `no function in tools is named ${quoted(chosenName(choice))}`);
  }
}

const calling = new Set(['function_call', 'custom_tool_call', 'computer_call', 'program']);
const answering = new Set(['function_call_output', 'custom_tool_call_output']);
/** Outputs whose calls another server may have stored. */
const answeringStored = new Set(['computer_call_output', 'program_output']);
const prompting = new Set(['message', 'compaction', 'agent_message']);

const isCall = (item: StoredItem) => calling.has(item.type) || calledType(item) !== undefined;
const isResult = (item: StoredItem) => answering.has(item.type) || resultType(item) !== undefined;

/** Requires the call of every result, and a message to answer. @throws ApiError `validation_error` (422) */
export function requireConversation(items: readonly PlacedItem[]): void {
  requireCalls(items, isResult);
  const hasPrompt = items.some(
    ({ item }) => prompting.has(item.type) || answeringStored.has(item.type) || isResult(item),
  );
  if (!hasPrompt) throw invalid('input', 'contains no message to answer');
}

function requireCalls(items: readonly PlacedItem[], isAnswer: (item: StoredItem) => boolean): void {
  const calls = new Set<string>();
  const faults = collectFaults((add) => {
    for (const { item, path } of items) {
      if (isCall(item)) calls.add(item.call_id!);
      else if (isAnswer(item) && !calls.has(answeredCallId(item)))
        add(`${path}.call_id`, `no earlier call has the call_id ${quoted(answeredCallId(item))}`);
    }
  });
  if (faults.length > 0) throw faultsError(faults);
}

/** Rejects items that translation would lose, because only another server can read them. @throws ApiError `validation_error` (422) */
export function requireReadable(items: readonly PlacedItem[]): void {
  for (const { item, path } of items) {
    const refusal = refusalFor(item);
    if (refusal) throw invalid(`${path}.type`, `${quoted(item.type)}: ${refusal}`);
  }
  requireCalls(items, ({ type }) => answeringStored.has(type));
  const foreign = items.find(({ item }) => item.type === 'compaction' && readSummary(item) === undefined);
  if (foreign)
    throw invalid(
      `${foreign.path}.encrypted_content`,
      'only the server that made this summary can read it: send the conversation itself, or compact it here',
    );
}

/**
 * Query of `GET /v1/responses/{id}`: the body, or its events behind a number, -1 for all of them.
 * @throws ApiError `validation_error`
 */
export function parseRetrieveQuery(query: Query) {
  const text = textParam(query, 'starting_after');
  if (text !== undefined && !/^\d{1,9}$/.test(text))
    throw invalid('starting_after', `expected the sequence_number of an event, got ${quoted(text)}`);
  return {
    stream: choiceParam(query, 'stream', ['true', 'false']) === 'true',
    startingAfter: text === undefined ? -1 : Number(text),
  };
}

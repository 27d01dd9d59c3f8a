import { isObject } from '../../base/fields.ts';
import type { Fault } from '../../core/errors.ts';
import type { PreparedChat } from '../prepared/prepared-request.ts';
import type { JsonBody } from '../json/json-body.ts';
import { prepareResponse, type ResponsePreparation } from './answer/prepare-response.ts';
import { nativeRequest } from './request/native-request.ts';
import { checkResponsesRequest, requireConversation } from './request/request.ts';
import { newResponse } from './answer/response-body.ts';
import type { ResponseBody, ResponsesRequest } from './responses.ts';
import { collectFaults } from '../schema/validate.ts';
import { isReference, pathOfItem, storedItems } from './stored-items.ts';
import { toChatRequest } from './request/to-chat-request.ts';

/**
 * Every fault of the body of a batch line. Its answer stands in the results of the batch alone and its whole conversation in
 * the line: what is stored may be gone when the line runs.
 */
export function checkResponsesLine(body: Record<string, unknown>): Fault[] {
  const agreed = collectFaults((add) => {
    if (body['background'] === true)
      add('background', 'a batch runs in the background as a whole; leave background out');
    if (body['store'] === true)
      add('store', 'answers of a batch stand in its results and are not stored; leave store out');
    for (const name of ['previous_response_id', 'conversation'])
      if (body[name] !== undefined && body[name] !== null)
        add(name, 'a batch line holds its whole conversation; send all of it as input');
    const items = Array.isArray(body['input']) ? body['input'] : [];
    for (const [index, item] of items.entries())
      if (isObject(item) && isReference(item))
        add(`input[${index}]`, 'a batch line holds its whole conversation; send the item itself');
  });
  return [...checkResponsesRequest(body), ...agreed];
}

/**
 * The chat that a checked line comes to.
 * @throws ApiError `validation_error` (422) when nothing in it can be answered
 */
export function lineChat(
  request: ResponsesRequest,
): Pick<ResponsePreparation, 'chat' | 'paths' | 'items' | 'clientNames'> {
  const { input } = request;
  const items = storedItems(input, '').map((item, index) => ({ item, path: pathOfItem(input, index) }));
  requireConversation(items);
  return { items, ...toChatRequest(request, items) };
}

/** A checked line, ready to be answered. Nothing of it is stored, and its answer says so. */
export function prepareResponseLine(body: JsonBody<ResponsesRequest>): PreparedChat<ResponseBody> {
  const request = { ...body.value, store: false };
  return prepareResponse({
    ...lineChat(request),
    native: () => nativeRequest(body, null, false),
    begun: ({ id, model, created }) =>
      newResponse(request, { id: responseId(id), createdAt: created, model, status: 'in_progress' }),
    at: ({ created }) => created,
    // Engines gave every call its id.
    newCallId: () => '',
  });
}

/** The same id under the prefix of responses, so that both can be found. */
function responseId(chatId: string): string {
  return chatId.replace(/^chatcmpl_/, 'resp_');
}

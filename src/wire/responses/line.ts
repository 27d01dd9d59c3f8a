import { fieldsOf, isObject } from '../../base/fields.ts';
import type { Fault } from '../../core/errors.ts';
import type { PreparedChat } from '../prepared/prepared-request.ts';
import type { JsonBody } from '../json/json-body.ts';
import { prepareResponse, type ResponsePreparation } from './answer/prepare-response.ts';
import { nativeRequest } from './request/native-request.ts';
import { checkResponsesRequest, requireConversation } from './request/request.ts';
import { newResponse } from './answer/response-body.ts';
import type { ResponseBody, ResponsesRequest } from './responses.ts';
import { collectFaults, type Validator } from '../schema/validate.ts';
import { isReference, pathOfItem, storedItems } from './stored-items.ts';
import { toChatRequest } from './request/to-chat-request.ts';

/** Checks the body of a batch line. It may not refer to stored state, which may be gone when the line runs. */
function checkLine(value: unknown): Fault[] {
  const body = fieldsOf(value);
  const faults = collectFaults((add) => {
    if (body['background'] === true)
      add('background', 'batches always run in the background; leave background out');
    if (body['store'] === true) add('store', 'answers of a batch are only in its results; leave store out');
    for (const name of ['previous_response_id', 'conversation'])
      if (body[name] !== undefined && body[name] !== null)
        add(name, 'not available in a batch; send the whole conversation as input');
    const items = Array.isArray(body['input']) ? body['input'] : [];
    for (const [index, item] of items.entries())
      if (isObject(item) && isReference(item))
        add(`input[${index}]`, 'references are not available in a batch; send the item itself');
  });
  return [...checkResponsesRequest(value), ...faults];
}
export const checkResponsesLine: Validator = Object.assign(checkLine, {
  known: checkResponsesRequest.known,
  compile: checkResponsesRequest.compile,
});

/** Chat request for a checked line. @throws ApiError `validation_error` (422) if it has no message to answer */
export function lineChat(
  request: ResponsesRequest,
): Pick<ResponsePreparation, 'chat' | 'paths' | 'items' | 'clientNames'> {
  const { input } = request;
  const items = storedItems(input, '').map((item, index) => ({ item, path: pathOfItem(input, index) }));
  requireConversation(items);
  return { items, ...toChatRequest(request, items) };
}

/**
 * Prepares a checked line. Its answer has `store: false`.
 * @param begun response of a single request, with which the answer begins instead
 */
export function prepareResponseLine(
  body: JsonBody<ResponsesRequest>,
  begun?: ResponseBody,
): PreparedChat<ResponseBody> {
  const request = { ...body.value, store: false };
  return prepareResponse({
    ...lineChat(request),
    native: () => nativeRequest(body, null, false),
    begun: ({ id, model, created }) =>
      begun ??
      newResponse(request, {
        id: id.replace(/^chatcmpl_/, 'resp_'),
        createdAt: created,
        model,
        status: 'in_progress',
      }),
    at: ({ created }) => created,
    // Engines give every call an id.
    newCallId: () => '',
  });
}

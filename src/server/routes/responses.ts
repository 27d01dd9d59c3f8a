import type { ApiError } from '../../core/errors.ts';
import { responseErrorEvent } from '../../wire/errors/error-events.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import { listBody } from '../../wire/shared/list-body.ts';
import { parseItemsQuery } from '../../wire/shared/query-params.ts';
import {
  compactedSchema,
  deletedResponseSchema,
  inputItemSchema,
  inputTokensSchema,
  responseSchema,
} from '../../wire/responses/answer/response-schema.ts';
import { backgroundWindowMs } from '../../wire/responses/request/background-window.ts';
import { parseRetrieveQuery, parseResponsesRequest } from '../../wire/responses/request/request.ts';
import { compactRequestSchema, parseCompactRequest } from '../../wire/responses/request/compact-request.ts';
import { responsesRequestSchema } from '../../wire/responses/request/request-schema.ts';
import type { ResponseBody, ResponseEvent, ResponsesRequest } from '../../wire/responses/responses.ts';
import { replayEvents } from '../../wire/responses/stream/replay.ts';
import { requestedTier } from '../../wire/shared/service-tier.ts';
import { typedEvent } from '../../wire/shared/sse.ts';
import { type Answer, events, json } from '../answer/answer.ts';
import { pageOf } from '../openapi/answer-schemas.ts';
import { inputItemsQuery, retrieveResponseQuery } from '../openapi/query-schemas.ts';
import { answerFlex } from './flex.ts';
import { reportFields } from '../request/report-fields.ts';
import { idempotencyTokens } from '../request/idempotency.ts';
import { type Incoming, interactiveCall, type Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const responseRoutes = defineRoutes({ access: 'inference', tag: 'Responses' }, [
  {
    on: 'POST /v1/responses',
    name: 'Responses',
    summary: 'Generate and store a response, with stream: true as server-sent events',
    tag: 'Generation',
    body: responsesRequestSchema,
    answer: responseSchema,
    async handle(incoming, services) {
      const { responses } = services;
      const request = parseResponsesRequest(incoming.body.text, reportFields(services, incoming));
      const timeoutMs = backgroundWindowMs(request.value);
      const named = requestedTier(request.value, incoming.caller.serviceTier);
      const tier = timeoutMs === undefined ? named : 'flex';
      const isBackground = request.value.background === true;
      if (tier === 'flex' && !isBackground) return createFlex(incoming, services, request);
      const call = interactiveCall(incoming);
      const tokenOf = idempotencyTokens(incoming, '/v1/responses');
      const durable = isBackground
        ? { tier, timeoutMs, creation: tokenOf(await incoming.body.sha256()) }
        : undefined;
      if (request.value.stream) return responseEvents(responses.stream(request, call, durable));
      return json(200, await responses.create(request, call, durable));
    },
  },
  {
    on: 'POST /v1/responses/input_tokens',
    name: 'Count Input Tokens',
    summary: 'Count the tokens of a responses request, or estimate them where the engine cannot count',
    tag: 'Generation',
    body: responsesRequestSchema,
    answer: inputTokensSchema,
    async handle(incoming, services) {
      const { body, caller, signal } = incoming;
      const request = parseResponsesRequest(body.text, reportFields(services, incoming));
      const tokens = await services.responses.countInput(request, { caller, signal });
      return json(200, { object: 'response.input_tokens', input_tokens: tokens });
    },
  },
  {
    on: 'POST /v1/responses/compact',
    name: 'Compact Response',
    summary: 'Summarize a conversation. The output serves as the input of the next response',
    tag: 'Generation',
    body: compactRequestSchema,
    answer: compactedSchema,
    async handle(incoming, { responses }) {
      const request = parseCompactRequest(incoming.body.text);
      return json(200, await responses.compact(request, interactiveCall(incoming)));
    },
  },
  {
    on: 'GET /v1/responses/:response_id',
    name: 'Retrieve Response',
    summary: 'Get a stored response, with stream=true as its events',
    query: retrieveResponseQuery,
    answer: responseSchema,
    async handle({ caller, method, param, query, signal }, { responses }) {
      const { stream, startingAfter } = parseRetrieveQuery(query);
      if (stream && method === 'GET')
        return responseEvents(responses.events(caller, param, startingAfter, signal));
      return json(200, await responses.get(caller, param));
    },
  },
  {
    on: 'GET /v1/responses/:response_id/input_items',
    name: 'List Input Items',
    summary: 'List the input items of a stored response, without those of previous responses',
    query: inputItemsQuery,
    answer: pageOf(inputItemSchema),
    async handle({ caller, param, query, signal }, { responses }) {
      const page = await responses.inputItems(caller, param, parseItemsQuery(query, 'desc'), signal);
      return json(200, listBody(page.items, page.hasMore));
    },
  },
  {
    on: 'POST /v1/responses/:response_id/cancel',
    name: 'Cancel Response',
    summary: 'Cancel a background response',
    answer: responseSchema,
    handle: async ({ caller, param }, { responses }) => json(200, await responses.cancel(caller, param)),
  },
  {
    on: 'DELETE /v1/responses/:response_id',
    name: 'Delete Response',
    summary: 'Delete a stored response. Responses that continue it can no longer be continued',
    answer: deletedResponseSchema,
    async handle({ caller, param }, { responses }) {
      await responses.remove(caller, param);
      return json(200, { id: param, object: 'response', deleted: true });
    },
  },
]);

async function createFlex(
  incoming: Incoming,
  services: Services,
  request: JsonBody<ResponsesRequest>,
): Promise<Answer> {
  const { stream, metadata } = request.value;
  const made = await services.responses.durable(request, incoming, 'flex');
  const failed = (error: ApiError) => responseErrorEvent(error, 0);
  return answerFlex(incoming, services, {
    endpoint: '/v1/responses',
    ...made,
    metadata,
    ...(stream && { stream: { toEvents: replayResponse, failed } }),
  });
}

function* replayResponse(answer: string): Generator<string> {
  for (const list of replayEvents(JSON.parse(answer) as ResponseBody, null))
    yield list.map(typedEvent).join('');
}

/** Events of a response, each list as one string. An error becomes the event after the last one. */
function responseEvents(lists: AsyncIterable<readonly ResponseEvent[]>): Answer {
  let next = 0;
  async function* texts(): AsyncGenerator<string> {
    for await (const list of lists) {
      next = (list.at(-1)?.sequence_number ?? next - 1) + 1;
      yield list.map(typedEvent).join('');
    }
  }
  return events(texts(), (error) => responseErrorEvent(error, next));
}

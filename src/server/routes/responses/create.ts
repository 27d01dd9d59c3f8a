import { parseResponsesRequest } from '../../../wire/responses/request/request.ts';
import { responsesRequestSchema } from '../../../wire/responses/request/request-schema.ts';
import { responseSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import { responseEvents } from '../../response-events.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/responses`, plain, as a stream, or in the background. */
export const createResponse: Route = {
  method: 'POST',
  path: '/v1/responses',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Responses',
    summary: 'Generate one response and keep it; with stream: true as server-sent events',
    tag: 'Generation',
    body: responsesRequestSchema,
    answer: { status: 200, type: 'application/json', schema: responseSchema },
  },
  async handle({ body, caller, requestId, signal, answers }, { responses }) {
    const request = parseResponsesRequest(body.text);
    const call = { caller, requestId, signal, answers };
    if (request.value.stream) return responseEvents(responses.stream(request, call));
    return json(200, await responses.create(request, call));
  },
};

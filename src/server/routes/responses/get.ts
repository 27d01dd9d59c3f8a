import { parseRetrieveQuery } from '../../../wire/responses/queries.ts';
import { responseSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import { retrieveResponseQuery } from '../../openapi/query-schemas.ts';
import { responseEvents } from '../../response-events.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/responses/{response_id}`; with `stream=true` its events once more. */
export const getResponse: Route = {
  method: 'GET',
  path: '/v1/responses/:response_id',
  access: 'inference',
  id: { prefix: 'resp_', what: 'response' },
  docs: {
    name: 'Retrieve Response',
    summary: 'One stored response; with stream=true as the events that made it',
    tag: 'Responses',
    query: retrieveResponseQuery,
    answer: { status: 200, type: 'application/json', schema: responseSchema },
  },
  async handle({ caller, method, param, query, signal }, { responses }) {
    const { stream, startingAfter } = parseRetrieveQuery(query);
    if (stream && method === 'GET')
      return responseEvents(responses.events(caller, param, startingAfter, signal));
    return json(200, await responses.get(caller, param));
  },
};

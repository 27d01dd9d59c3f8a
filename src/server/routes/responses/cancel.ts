import { responseSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/responses/{response_id}/cancel`. Whatever body comes with it is not read. */
export const cancelResponse: Route = {
  method: 'POST',
  path: '/v1/responses/:response_id/cancel',
  access: 'inference',
  id: { prefix: 'resp_', what: 'response' },
  docs: {
    name: 'Cancel Response',
    summary: 'End a response that is made in the background',
    tag: 'Responses',
    answer: { status: 200, type: 'application/json', schema: responseSchema },
  },
  handle: async ({ caller, param }, { responses }) => json(200, await responses.cancel(caller, param)),
};

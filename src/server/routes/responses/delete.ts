import { deletedResponseSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `DELETE /v1/responses/{response_id}`. */
export const deleteResponse: Route = {
  method: 'DELETE',
  path: '/v1/responses/:response_id',
  access: 'inference',
  id: { prefix: 'resp_', what: 'response' },
  docs: {
    name: 'Delete Response',
    summary: 'Forget a stored response; what continues it cannot be continued any more',
    tag: 'Responses',
    answer: { status: 200, type: 'application/json', schema: deletedResponseSchema },
  },
  async handle({ caller, param }, { responses }) {
    await responses.remove(caller, param);
    return json(200, { id: param, object: 'response', deleted: true });
  },
};

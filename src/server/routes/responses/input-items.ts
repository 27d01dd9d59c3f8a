import { listBody } from '../../../wire/list.ts';
import { parseItemsQuery } from '../../../wire/items-page.ts';
import { inputItemSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import { pageOf } from '../../openapi/answer-schemas.ts';
import { inputItemsQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/responses/{response_id}/input_items`. */
export const listInputItems: Route = {
  method: 'GET',
  path: '/v1/responses/:response_id/input_items',
  access: 'inference',
  id: { prefix: 'resp_', what: 'response' },
  docs: {
    name: 'List Input Items',
    summary: 'What a stored response was asked, without what it continues',
    tag: 'Responses',
    query: inputItemsQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(inputItemSchema) },
  },
  async handle({ caller, param, query, signal }, { responses }) {
    const page = await responses.inputItems(caller, param, parseItemsQuery(query, 'desc'), signal);
    return json(200, listBody(page.items, page.hasMore));
  },
};

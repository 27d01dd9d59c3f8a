import { pageOfModels, parseModelListQuery } from '../../wire/models/list.ts';
import { presentModels } from '../../wire/models/present.ts';
import { json } from '../answer.ts';
import { modelSchema, pageOf } from '../openapi/answer-schemas.ts';
import { modelListQuery } from '../openapi/query-schemas.ts';
import type { Route } from '../route.ts';

/** `GET /v1/models`: the models this key may use. */
export const listModels: Route = {
  method: 'GET',
  path: '/v1/models',
  access: 'key',
  docs: {
    name: 'List Models',
    summary: 'The models this key may use',
    tag: 'Models',
    query: modelListQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(modelSchema) },
  },
  async handle({ caller: { models: allowed }, query }, { catalog }) {
    const models = catalog.list().filter(({ id }) => allowed === null || allowed.includes(id));
    return json(200, presentModels(pageOfModels(models, parseModelListQuery(query))));
  },
};

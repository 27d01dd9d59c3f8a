import { pageOfModels, parseModelListQuery } from '../../../wire/models/list.ts';
import { presentModels } from '../../../wire/models/present.ts';
import { json } from '../../answer.ts';
import { modelSchema, pageOf } from '../../openapi/answer-schemas.ts';
import { modelListQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/models`: the models this key may use; an admin key sees how their servers are. */
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
  async handle({ caller: { models: allowed, scopes }, query }, { catalog, generate }) {
    const models = catalog.list().filter(({ id }) => allowed === null || allowed.includes(id));
    const page = pageOfModels(models, parseModelListQuery(query));
    if (!scopes.includes('admin')) return json(200, presentModels(page));
    return json(
      200,
      presentModels(page, (id) => generate.replicas(id)),
    );
  },
};

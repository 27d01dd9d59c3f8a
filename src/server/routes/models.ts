import { ApiError } from '../../core/errors.ts';
import { pageOfModels, parseModelListQuery } from '../../wire/models/list.ts';
import { presentModel, presentModels } from '../../wire/models/present.ts';
import { json } from '../answer.ts';
import { modelSchema, pageOf } from '../openapi/answer-schemas.ts';
import { modelListQuery } from '../openapi/query-schemas.ts';
import { routesOf } from './routes-of.ts';

// A key sees the models it may use, and an admin key how their servers are.

export const modelRoutes = routesOf({ access: 'key', tag: 'Models' }, [
  {
    on: 'GET /v1/models',
    name: 'List Models',
    summary: 'The models this key may use',
    query: modelListQuery,
    answer: pageOf(modelSchema),
    async handle({ caller: { models: allowed, scopes }, query }, { catalog, generate }) {
      const models = catalog.list().filter(({ id }) => allowed === null || allowed.includes(id));
      const page = pageOfModels(models, parseModelListQuery(query));
      const replicas = scopes.includes('admin') ? (id: string) => generate.replicas(id) : undefined;
      return json(200, presentModels(page, replicas));
    },
  },
  {
    // By id or alias. Ids may hold slashes, which some clients encode and some do not.
    on: 'GET /v1/models/*',
    name: 'Retrieve Model',
    summary: 'One model, by its id or an alias',
    answer: modelSchema,
    async handle({ param, caller: { models: allowed, scopes } }, { catalog, generate }) {
      const model = catalog.find(param);
      if (!model || (allowed !== null && !allowed.includes(model.id)))
        throw new ApiError('model_not_found', `The model '${param.slice(0, 200)}' does not exist.`, {
          param: 'model',
        });
      return json(
        200,
        presentModel(model, scopes.includes('admin') ? generate.replicas(model.id) : undefined),
      );
    },
  },
]);

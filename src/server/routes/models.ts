import { truncate } from '../../base/truncate.ts';
import { ApiError } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import type { KeyScope } from '../../core/org.ts';
import type { Inference } from '../../inference/inference.ts';
import { pageOfModels, parseModelListQuery } from '../../wire/models/list.ts';
import { type ModelState, presentModel, presentModels } from '../../wire/models/present.ts';
import { json } from '../answer.ts';
import { modelSchema, pageOf } from '../openapi/answer-schemas.ts';
import { modelListQuery } from '../openapi/query-schemas.ts';
import { defineRoutes } from './define-routes.ts';

// A key sees the models it may use, and an admin key how their servers are.

export const modelRoutes = defineRoutes({ access: 'key', tag: 'Models' }, [
  {
    on: 'GET /v1/models',
    name: 'List Models',
    summary: 'The models this key may use',
    query: modelListQuery,
    answer: pageOf(modelSchema),
    async handle({ caller: { models: allowed, scopes }, query }, { generate }) {
      const models = generate.fleet.list().filter(({ id }) => allowed === null || allowed.includes(id));
      const page = pageOfModels(models, parseModelListQuery(query));
      return json(200, presentModels(page, stateIn(generate, scopes)));
    },
  },
  {
    // By id or alias. Ids may hold slashes, which some clients encode and some do not.
    on: 'GET /v1/models/*',
    name: 'Retrieve Model',
    summary: 'One model, by its id or an alias',
    answer: modelSchema,
    async handle({ param, caller: { models: allowed, scopes } }, { generate }) {
      const model = generate.fleet.find(param);
      if (!model || !generate.fleet.serves(param) || (allowed !== null && !allowed.includes(model.id)))
        throw new ApiError('model_not_found', `The model '${truncate(param, 200)}' does not exist.`, {
          param: 'model',
        });
      return json(200, presentModel(model, stateIn(generate, scopes)(model)));
    },
  },
]);

/** How models are here. Slots that were found out are a guess, and are found out anew by whoever asks. */
function stateIn(generate: Inference, scopes: readonly KeyScope[]): (model: Model) => ModelState {
  const isAdmin = scopes.includes('admin');
  return ({ id }) => {
    const isHere = generate.catalog.find(id) !== undefined;
    return {
      batchOnly: !isHere,
      slots: isHere && generate.found(id) === undefined ? generate.slots(id) : null,
      ...(isAdmin && { replicas: generate.replicas(id) }),
    };
  };
}

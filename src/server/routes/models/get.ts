import { ApiError } from '../../../core/errors.ts';
import { presentModel } from '../../../wire/models/present.ts';
import { json } from '../../answer.ts';
import { modelSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/models/{model}`, by id or alias. Ids may hold slashes, which some clients encode and some do not. */
export const getModel: Route = {
  method: 'GET',
  path: '/v1/models/*',
  access: 'key',
  docs: {
    name: 'Retrieve Model',
    summary: 'One model, by its id or an alias',
    tag: 'Models',
    answer: { status: 200, type: 'application/json', schema: modelSchema },
  },
  async handle({ param, caller: { models: allowed, scopes } }, { catalog, generate }) {
    const model = catalog.find(param);
    if (!model || (allowed !== null && !allowed.includes(model.id)))
      throw new ApiError('model_not_found', `The model '${param.slice(0, 200)}' does not exist.`, {
        param: 'model',
      });
    return json(200, presentModel(model, scopes.includes('admin') ? generate.replicas(model.id) : undefined));
  },
};

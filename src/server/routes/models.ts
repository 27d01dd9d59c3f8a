import { truncate } from '../../base/truncate.ts';
import { unknownModelError } from '../../core/model-access.ts';
import type { Model } from '../../core/model.ts';
import { hasScope, type KeyScope } from '../../core/org.ts';
import { pageOfModels, parseModelListQuery } from '../../wire/models/list.ts';
import { type ModelState, presentModel, presentModels } from '../../wire/models/present.ts';
import { json } from '../answer/answer.ts';
import { modelSchema, pageOf } from '../openapi/answer-schemas.ts';
import { modelListQuery } from '../openapi/query-schemas.ts';
import type { Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const modelRoutes = defineRoutes({ access: 'key', tag: 'Models' }, [
  {
    on: 'GET /v1/models',
    name: 'List Models',
    summary: 'List the models that the key may use. An admin key also sees the state of their servers',
    query: modelListQuery,
    answer: pageOf(modelSchema),
    async handle({ caller: { models: allowed, scopes }, query }, services) {
      const models = services.peers.list().filter(({ id }) => allowed === null || allowed.includes(id));
      const page = pageOfModels(models, parseModelListQuery(query));
      return json(200, presentModels(page, stateIn(services, scopes)));
    },
  },
  {
    // Ids may contain slashes, which only some clients encode.
    on: 'GET /v1/models/*',
    name: 'Retrieve Model',
    summary: 'Get a model by its id or an alias',
    answer: modelSchema,
    async handle({ param, caller: { models: allowed, scopes } }, services) {
      const { peers } = services;
      const model = peers.find(param);
      if (!model || !peers.serves(param) || (allowed !== null && !allowed.includes(model.id)))
        throw unknownModelError(truncate(param, 200));
      return json(200, presentModel(model, stateIn(services, scopes)(model)));
    },
  },
]);

/** State of models in this process. Discovered slots are an estimate and not shown. */
function stateIn(
  { catalog, capacity, clock }: Services,
  scopes: readonly KeyScope[],
): (model: Model) => ModelState {
  const isAdmin = hasScope(scopes, 'admin:read');
  return ({ id }) => {
    const isLocal = catalog.find(id) !== undefined;
    return {
      batchOnly: !isLocal,
      now: clock.now(),
      slots: isLocal && capacity.discoveredSlots(id) === undefined ? capacity.slots(id) : null,
      ...(isAdmin && { replicas: capacity.replicas(id) }),
    };
  };
}

import { ApiError } from './errors.ts';
import type { Catalog, Model, Serves } from './model.ts';
import type { Caller } from './org.ts';

const endpointNames: Record<Serves, string> = {
  chat: 'chat completions',
  embeddings: 'embeddings',
  completions: 'text completions: send messages to /v1/chat/completions',
};

/** The fallbacks of a model that `caller` may use for `serves`, in their order. */
export function fallbacksFor(
  catalog: Pick<Catalog, 'find'>,
  { fallbacks = [] }: Model,
  caller: Pick<Caller, 'models'>,
  serves: Serves,
): Model[] {
  const all = fallbacks.flatMap((id) => catalog.find(id) ?? []);
  return all.filter((model) => model.serves.includes(serves) && (caller.models?.includes(model.id) ?? true));
}

/** What is said of a model to whom it cannot answer, because only other processes serve it. */
export function servedElsewhereError(
  { id }: Model,
  here: Pick<Catalog, 'list'>,
  { models: allowed }: Pick<Caller, 'models'>,
): ApiError {
  const served = here.list().filter((model) => allowed?.includes(model.id) ?? true);
  const names = served.map((model) => `'${model.id}'`).join(', ');
  const told = `The model '${id}' is served by other processes of this service: ask one of those, or make a batch of it here.`;
  return new ApiError('model_not_found', names ? `${told} This one serves ${names}.` : told, {
    param: 'model',
  });
}

/**
 * The model that `name` (an id or an alias) stands for, if `caller` may use it for `serves`.
 * @throws ApiError `model_not_found` (404) for an unknown name or a model of the other kind, `model_not_allowed` (403)
 */
export function modelFor(
  catalog: Pick<Catalog, 'find'>,
  caller: Pick<Caller, 'models'>,
  name: string,
  serves: Serves,
): Model {
  const model = catalog.find(name);
  if (!model)
    throw new ApiError('model_not_found', `The model '${name}' does not exist.`, { param: 'model' });
  if (caller.models && !caller.models.includes(model.id))
    throw new ApiError('model_not_allowed', `This key may not use the model '${model.id}'.`, {
      param: 'model',
    });
  if (!model.serves.includes(serves))
    throw new ApiError(
      'model_not_found',
      `The model '${model.id}' does not serve ${endpointNames[serves]}.`,
      {
        param: 'model',
      },
    );
  return model;
}

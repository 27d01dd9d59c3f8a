import { ApiError, type ErrorCode } from './errors.ts';
import type { Catalog, Model, Serves } from './model.ts';
import type { Caller } from './org.ts';

/** Kinds of requests in words. */
export const servesNames: Record<Serves, string> = {
  chat: 'chat completions',
  embeddings: 'embeddings',
  rerank: 'reranking',
  score: 'scores',
  moderations: 'moderations',
  completions: 'text completions: send messages to /v1/chat/completions',
};

/** Fallbacks of a model that `caller` may use for `serves`, in order. */
export function fallbacksFor(
  catalog: Pick<Catalog, 'find'>,
  { fallbacks = [] }: Model,
  caller: Pick<Caller, 'models'>,
  serves: Serves,
): Model[] {
  const all = fallbacks.flatMap((id) => catalog.find(id) ?? []);
  return all.filter((model) => model.serves.includes(serves) && (caller.models?.includes(model.id) ?? true));
}

export function unknownModelError(name: string): ApiError {
  return modelError(
    'model_not_found',
    `The model '${name}' does not exist. GET /v1/models lists the models.`,
  );
}

/** Error for a model that only other processes serve. */
export function servedElsewhereError(
  { id }: Model,
  here: Pick<Catalog, 'list'>,
  { models: allowed }: Pick<Caller, 'models'>,
): ApiError {
  const served = here.list().filter((model) => allowed?.includes(model.id) ?? true);
  const names = served.map((model) => `'${model.id}'`).join(', ');
  const message = `The model '${id}' is served by other Offpeak servers on this database. Send the request to one of them, or create a batch here.`;
  return modelError('model_not_found', names ? `${message} This server has ${names}.` : message);
}

/**
 * Model by id or alias, if `caller` may use it for `serves`.
 * @throws ApiError `model_not_found` (404), `model_not_allowed` (403)
 */
export function modelFor(
  catalog: Pick<Catalog, 'find'>,
  caller: Pick<Caller, 'models'>,
  name: string,
  serves: Serves,
): Model {
  const model = catalog.find(name);
  if (!model) throw unknownModelError(name);
  if (caller.models && !caller.models.includes(model.id))
    throw modelError(
      'model_not_allowed',
      `This key may not use the model '${model.id}'. An administrator can allow it.`,
    );
  if (!model.serves.includes(serves))
    throw modelError('model_not_found', `The model '${model.id}' does not serve ${servesNames[serves]}.`);
  return model;
}

function modelError(code: ErrorCode, message: string): ApiError {
  return new ApiError(code, message, { param: 'model' });
}

import { isWorthRetryingElsewhere } from '../core/errors.ts';
import { fallbacksFor } from '../core/model-access.ts';
import type { Serves } from '../core/model.ts';
import { type JsonBody, builtBody } from '../wire/json/json-body.ts';
import type { Inference, InferenceService, InteractiveCall } from './inference.ts';

/**
 * Inference for single requests. If a model is unavailable, or fails before its answer has begun and not because of the
 * request, the request goes to the next fallback that the caller may use. The answer names the model that gave it, and that
 * model is charged. Batch lines have a grace period first (`line-fallbacks.ts`).
 */
export function withFallbacks({
  inference,
  capacity,
  catalog,
}: Pick<InferenceService, 'inference' | 'capacity' | 'catalog'>): Inference {
  function withFallback<Request extends { model: string }, Answer>(
    serves: Serves,
    runEach: (names: readonly string[], run: (name: string) => Answer) => Answer,
    run: (request: JsonBody<Request>, call: InteractiveCall) => Answer,
  ): typeof run {
    return (request, call) => {
      const { model: name } = request.value;
      const model = catalog.find(name);
      if (!model?.fallbacks?.length) return run(request, call);
      const names = [name, ...fallbacksFor(catalog, model, call.caller, serves).map(({ id }) => id)];
      return runEach(names, (each) => run(renamed(request, each), call));
    };
  }

  return {
    ...inference,
    chat: withFallback('chat', firstAnswer, (request, call) => inference.chat(request, call)),
    chatStream: withFallback('chat', firstStream, (request, call) => inference.chatStream(request, call)),
    direct(kind, request, call) {
      const run = withFallback<typeof request.value, Promise<object>>(kind, firstAnswer, (each, on) =>
        inference.direct(kind, each, on),
      );
      return run(request, call);
    },
    completions: withFallback('completions', firstAnswer, (request, call) =>
      inference.completions(request, call),
    ),
    completionsStream: withFallback('completions', firstStream, (request, call) =>
      inference.completionsStream(request, call),
    ),

    /** False while a fallback answers for the model: it may support other formats. */
    goesNatively(op, chat, caller) {
      if (!inference.goesNatively(op, chat, caller)) return false;
      const model = catalog.find(chat.model);
      return !model?.fallbacks?.length || capacity.waiting(model.id) === null;
    },
  };
}

/** Returns the first answer, or throws the first error if all fail. An error that another model would not avoid is thrown at once. */
export async function firstAnswer<From, T>(
  from: readonly From[],
  run: (each: From) => Promise<T>,
): Promise<T> {
  let first: unknown;
  for (const each of from)
    try {
      return await run(each);
    } catch (error) {
      first ??= error;
      if (!isWorthRetryingElsewhere(error)) throw error;
    }
  throw first;
}

async function* firstStream<T>(
  names: readonly string[],
  run: (name: string) => AsyncIterable<T>,
): AsyncGenerator<T> {
  let first: unknown;
  for (const name of names) {
    let hasBegun = false;
    try {
      for await (const each of run(name)) {
        hasBegun = true;
        yield each;
      }
      return;
    } catch (error) {
      first ??= error;
      if (hasBegun || !isWorthRetryingElsewhere(error)) throw error;
    }
  }
  throw first;
}

/** The text keeps the requested name; engines replace it by their own. */
function renamed<T extends { model: string }>(body: JsonBody<T>, model: string): JsonBody<T> {
  if (body.value.model === model) return body;
  const value = { ...body.value, model };
  return body.isBuilt ? builtBody(value) : { ...body, value };
}

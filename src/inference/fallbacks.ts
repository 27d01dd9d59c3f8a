import { isWorthRetryingElsewhere } from '../core/errors.ts';
import { fallbacksFor } from '../core/model-access.ts';
import type { Serves } from '../core/model.ts';
import type { Caller } from '../core/org.ts';
import { type JsonBody, builtBody } from '../wire/json/json-body.ts';
import type { Inference, InteractiveCall } from './inference.ts';

/**
 * The same, but where a model takes nothing, or fails for another reason than the request before anything of an answer has
 * come, the next of its fallbacks is asked that the caller may use. Who answered stands in the answer, and is what is paid.
 * Lines of batches wait for a while before (`line-fallbacks.ts`).
 */
export function withFallbacks(generate: Inference): Inference {
  const { catalog } = generate;

  /** The name that was asked for, and those in its place. */
  function namesFor(name: string, caller: Caller, serves: Serves): string[] {
    const model = catalog.find(name);
    if (!model?.fallbacks?.length) return [name];
    return [name, ...fallbacksFor(catalog, model, caller, serves).map(({ id }) => id)];
  }

  function orElse<Request extends { model: string }, Answer>(
    run: (request: JsonBody<Request>, call: InteractiveCall) => Answer,
    turns: (names: readonly string[], run: (name: string) => Answer) => Answer,
    serves: Serves,
  ): typeof run {
    return (request, call) => {
      const names = namesFor(request.value.model, call.caller, serves);
      if (names.length === 1) return run(request, call);
      return turns(names, (name) => run(renamed(request, name), call));
    };
  }

  return {
    ...generate,
    chat: orElse((request, call) => generate.chat(request, call), firstAnswer, 'chat'),
    chatStream: orElse((request, call) => generate.chatStream(request, call), inTurn, 'chat'),
    embeddings: orElse((request, call) => generate.embeddings(request, call), firstAnswer, 'embeddings'),
    completions: orElse((request, call) => generate.completions(request, call), firstAnswer, 'completions'),
    completionsStream: orElse(
      (request, call) => generate.completionsStream(request, call),
      inTurn,
      'completions',
    ),

    /** A model that takes nothing is answered for by others, which may speak another format. */
    goesNatively(op, chat, caller) {
      if (!generate.goesNatively(op, chat, caller)) return false;
      const model = catalog.find(chat.model);
      return !model?.fallbacks?.length || generate.waiting(model.id) === null;
    },
  };
}

/** The first answer that one of them gives; where none does, the first error. What no other would mend is thrown at once. */
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

async function* inTurn<T>(
  names: readonly string[],
  run: (name: string) => AsyncIterable<T>,
): AsyncGenerator<T> {
  let first: unknown;
  for (const name of names) {
    let begun = false;
    try {
      for await (const each of run(name)) {
        begun = true;
        yield each;
      }
      return;
    } catch (error) {
      first ??= error;
      if (begun || !isWorthRetryingElsewhere(error)) throw error;
    }
  }
  throw first;
}

/** The text keeps the name that was asked for; engines replace it by their own. */
function renamed<T extends { model: string }>(body: JsonBody<T>, model: string): JsonBody<T> {
  if (body.value.model === model) return body;
  const value = { ...body.value, model };
  return body.isBuilt ? builtBody(value) : { ...body, value };
}

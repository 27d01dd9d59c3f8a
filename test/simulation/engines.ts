import { ApiError } from '../../src/core/errors.ts';
import type { Model } from '../../src/core/model.ts';
import type { Engine, EngineCall } from '../../src/engines/engines.ts';
import { createScriptedEngine } from '../../src/engines/scripted/scripted.ts';
import type { Outage } from './plan.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** Nano-dollars per million tokens; odd, so that rounding shows. */
export const prices = { input: 150_000_001, cachedInput: 75_000_003, output: 600_000_007 };

export const modelOf = (id: string): Model => ({
  id,
  aliases: [`${id}-alias`],
  serves: ['chat', 'embeddings'],
  prices,
  createdAt: 0,
});

export function createEngines(world: World, process: SimProcess): { model: Model; engine: Engine }[] {
  return world.plan.models.map((id) => ({
    model: modelOf(id),
    engine: troubled(
      world,
      process,
      id,
      createScriptedEngine({ clock: process.time, slots: world.plan.slots }),
    ),
  }));
}

function outage(how: Outage, retryAfter: number | null): ApiError {
  if (how === 'overloaded')
    return new ApiError('engine_overloaded', 'Too much to do.', {
      ...(retryAfter !== null && { retryAfter }),
    });
  if (how === 'unreachable') return new ApiError('upstream_unreachable', 'Nobody listens.');
  if (how === '502') return new ApiError('upstream_error', 'The proxy says 502.');
  return new ApiError('upstream_error', 'The model is not there.');
}

/** The engine behind a network: refuses while the world says so, and breaks now and then. */
function troubled(world: World, process: SimProcess, model: string, engine: Engine): Engine {
  const requireThere = () => {
    const refusal = world.refusals.get(model);
    if (refusal && refusal.until > world.time.elapsed) throw outage(refusal.how, refusal.retryAfter);
  };
  const watched = async <T>(text: string, { signal }: EngineCall, work: () => Promise<T>): Promise<T> => {
    const asked = world.calls.asked(process, model);
    let isThere = false;
    try {
      requireThere();
      isThere = true;
      if (world.random.chance(world.plan.flaky)) throw new ApiError('upstream_error', 'The engine broke.');
      const answer = await work();
      asked.answered();
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'engine_overloaded') asked.refused();
      else if (!signal.aborted) asked.answered();
      if (isThere && error instanceof ApiError && !error.blame.certain) world.noteFailure(text);
      throw error;
    }
  };
  return {
    ...engine,
    generate: (request, call) => watched(request.text, call, () => engine.generate(request, call)),
    embed: (request, call) => watched(request.text, call, () => engine.embed(request, call)),
    async probe() {
      requireThere();
      return engine.probe();
    },
    tryOut: async () => requireThere(),
  };
}

import { ApiError } from '../../src/core/errors.ts';
import type { Model } from '../../src/core/model.ts';
import type { Engine, EngineCall } from '../../src/engines/engines.ts';
import { readChatResponse } from '../../src/engines/upstream/answer/chat-response.ts';
import { usageReader } from '../../src/engines/upstream/answer/usage.ts';
import { createDirectedEngine } from '../support/scripted/directed-engine.ts';
import type { ChatResponse } from '../../src/wire/chat/chat.ts';
import { directives } from './input.ts';
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
      createDirectedEngine({ clock: process.time, slots: world.plan.slots }),
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

/** Answer of a server whose filter blocked the prompt. */
const filtered = (usage: object): ChatResponse =>
  readChatResponse(
    { object: 'chat.completion', choices: [], usage: { ...usage, completion_tokens: 0 } },
    {
      estimatePrompt: () => 0,
      choices: 1,
      alternatives: 0,
      newCallId: () => '',
      repairs: new Set(),
      usageOf: usageReader(undefined),
      finishes: undefined,
    },
  );

/** Engine behind a network: refuses during an outage, and fails at random. */
function troubled(world: World, process: SimProcess, model: string, engine: Engine): Engine {
  const requireThere = () => {
    const refusal = world.refusals.get(model);
    if (refusal && refusal.until > world.time.elapsed) throw outage(refusal.how, refusal.retryAfter);
  };
  const through = <T>(work: () => Promise<T>) => world.gatewayOf(model)?.pass(world.time, work) ?? work();
  const watched = async <T>(
    text: string,
    { signal, line }: EngineCall,
    work: () => Promise<T>,
  ): Promise<T> => {
    const asked = world.calls.asked(process, model, line !== undefined);
    let isThere = false;
    try {
      requireThere();
      isThere = true;
      if (world.random.chance(world.plan.flaky)) throw new ApiError('upstream_error', 'The engine broke.');
      const answer = await through(work);
      asked.answered();
      return answer;
    } catch (error) {
      const isOwn = text.includes(directives.closed);
      // A refusal of the line itself says nothing about the engine.
      const isItsOwn = isThere && (isOwn || text.includes(directives.refused));
      if (error instanceof ApiError && error.code === 'engine_overloaded' && !isItsOwn) asked.refused();
      else if (!signal.aborted) asked.answered();
      if (isThere && error instanceof ApiError && (isOwn || !error.blame.certain)) world.noteFailure(text);
      throw error;
    }
  };
  return {
    ...engine,
    generate: (request, call) =>
      watched(request.text, call, async () => {
        const answer = await engine.generate(request, call);
        return request.text.includes(directives.filtered) ? filtered(answer.usage) : answer;
      }),
    direct: (kind, request, call) => watched(request.text, call, () => engine.direct(kind, request, call)),
    async probe() {
      requireThere();
      return engine.probe();
    },
    async tryOut() {
      try {
        await through(async () => requireThere());
        world.calls.triedOut(process, model, true);
      } catch (error) {
        world.calls.triedOut(process, model, false);
        throw error;
      }
    },
  };
}

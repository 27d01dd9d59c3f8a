import type { Clock } from '../base/clock.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import { shareAt } from '../core/hours.ts';
import { firstAnswer } from './fallbacks.ts';
import type { Inference, LineAnswer, LineCall } from './inference.ts';

const none: readonly string[] = [];

/**
 * The same, but lines of batches go to the fallbacks of a model that has taken nothing for as long as it is configured with
 * (`batchFallbacksAfterMs`), until it takes requests again; not to those whose hours leave batches no place now. Who answered
 * stands in the answer and is what is paid, at the price that the batch froze for it.
 */
export function withLineFallbacks(generate: Inference, clock: Clock): Inference {
  const { catalog } = generate;

  function usable(modelId: string): readonly string[] {
    const { fallbacks = [], batchFallbacksAfterMs: afterMs } = catalog.find(modelId) ?? {};
    if (afterMs === undefined) return none;
    const cause = generate.waiting(modelId);
    const now = clock.now();
    if (!cause || now - cause.since < afterMs) return none;
    return fallbacks.filter(
      (id) => generate.waiting(id) === null && shareAt(catalog.find(id)?.hours, now) > 0,
    );
  }

  /** What can be had of the model, or of the first in its place. */
  function most(modelId: string, of: (id: string) => number): number {
    const [other] = usable(modelId);
    return other === undefined ? of(modelId) : Math.max(of(modelId), of(other));
  }

  /** By which of its priced names a batch may use a model. */
  const pricedName = (priced: readonly string[], id: string) =>
    priced.find((name) => catalog.idOf(name) === id);

  function runLine(call: LineCall, others: readonly string[]): Promise<LineAnswer> {
    const tries = others.flatMap((id) => {
      const model = catalog.find(id);
      const paid = pricedName(call.priced, id);
      if (!model || paid === undefined) return [];
      return async (): Promise<LineAnswer> => ({
        ...(await generate.runLine({ ...call, model })),
        model: paid,
      });
    });
    if (tries.length === 0 || generate.room(call.model.id) > 0) tries.unshift(() => generate.runLine(call));
    return firstAnswer(tries, (run) => run());
  }

  return {
    ...generate,
    room: (modelId) => most(modelId, (id) => generate.room(id)),
    limit: (modelId) => most(modelId, (id) => generate.limit(id)),
    fared(modelId) {
      const own = generate.fared(modelId);
      const [other] = usable(modelId);
      return other === undefined ? own : together(own, generate.fared(other));
    },
    waiting(modelId, priced) {
      const mayRun = (id: string) => !priced || pricedName(priced, id) !== undefined;
      return usable(modelId).some(mayRun) ? null : generate.waiting(modelId);
    },
    // One line after the other tries whether the model takes requests again.
    standIns: (modelId) => (generate.room(modelId) > 0 ? none : usable(modelId)),

    runLine(call) {
      const others = usable(call.model.id);
      return others.length === 0 ? generate.runLine(call) : runLine(call, others);
    },
  };
}

function together(a: RequestOutcomes, b: RequestOutcomes): RequestOutcomes {
  return {
    workedAt: Math.max(a.workedAt, b.workedAt),
    answers: a.answers + b.answers,
    breaks: a.breaks + b.breaks,
    isBreak: a.isBreak || b.isBreak,
  };
}

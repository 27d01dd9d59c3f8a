import type { Clock } from '../base/clock.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import { shareAt } from '../core/hours.ts';
import type { Capacity } from './capacity.ts';
import { firstAnswer } from './fallbacks.ts';
import type { Inference, InferenceService, LineAnswer, LineCall } from './inference.ts';

const none: readonly string[] = [];

/**
 * Inference and capacity for batches. Lines go to the fallbacks of a model that has been unavailable for
 * `batchFallbacksAfterMs`, until it takes requests again. Fallbacks whose hours exclude batches now are skipped. The model
 * that answered is the one charged, at the price that the batch froze.
 */
export function withLineFallbacks(
  { inference, capacity, catalog }: Pick<InferenceService, 'inference' | 'capacity' | 'catalog'>,
  clock: Clock,
): { inference: Inference; capacity: Capacity } {
  function usable(modelId: string): readonly string[] {
    const { fallbacks = [], batchFallbacksAfterMs: afterMs } = catalog.find(modelId) ?? {};
    if (afterMs === undefined) return none;
    const cause = capacity.waiting(modelId);
    const now = clock.now();
    if (!cause || now - cause.since < afterMs) return none;
    return fallbacks.filter(
      (id) => capacity.waiting(id) === null && shareAt(catalog.find(id)?.hours, now) > 0,
    );
  }

  /** The larger value of the model and its first usable fallback. */
  function larger(modelId: string, read: (id: string) => number): number {
    const [other] = usable(modelId);
    return other === undefined ? read(modelId) : Math.max(read(modelId), read(other));
  }

  /** The priced name under which a batch may use a model. */
  const pricedName = (priced: readonly string[], id: string) =>
    priced.find((name) => catalog.idOf(name) === id);

  function runLine(call: LineCall, fallbacks: readonly string[]): Promise<LineAnswer> {
    const runs = fallbacks.flatMap((id) => {
      const model = catalog.find(id);
      const paid = pricedName(call.priced, id);
      if (!model || paid === undefined) return [];
      return async (): Promise<LineAnswer> => ({
        ...(await inference.runLine({ ...call, model })),
        model: paid,
      });
    });
    if (runs.length === 0 || capacity.room(call.model.id) > 0) runs.unshift(() => inference.runLine(call));
    return firstAnswer(runs, (run) => run());
  }

  return {
    inference: {
      ...inference,
      runLine(call) {
        const fallbacks = usable(call.model.id);
        return fallbacks.length === 0 ? inference.runLine(call) : runLine(call, fallbacks);
      },
    },
    capacity: {
      ...capacity,
      room: (modelId) => larger(modelId, (id) => capacity.room(id)),
      limit: (modelId) => larger(modelId, (id) => capacity.limit(id)),
      outcomes(modelId) {
        const own = capacity.outcomes(modelId);
        const [other] = usable(modelId);
        return other === undefined ? own : combined(own, capacity.outcomes(other));
      },
      waiting(modelId, priced) {
        const mayRun = (id: string) => !priced || pricedName(priced, id) !== undefined;
        return usable(modelId).some(mayRun) ? null : capacity.waiting(modelId);
      },
      // While the model has room, lines still probe it, one at a time.
      activeFallbacks: (modelId) => (capacity.room(modelId) > 0 ? none : usable(modelId)),
    },
  };
}

function combined(a: RequestOutcomes, b: RequestOutcomes): RequestOutcomes {
  return {
    workedAt: Math.max(a.workedAt, b.workedAt),
    answers: a.answers + b.answers,
    breaks: a.breaks + b.breaks,
    isBreak: a.isBreak || b.isBreak,
  };
}

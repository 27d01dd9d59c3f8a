import { type DateForm, endedAt, isFinal } from '../../core/batch.ts';
import type { BatchHistory, HistoryPoint } from '../../core/batch-history.ts';
import { instantFormats, nullable } from '../shared/instant.ts';
import type { BatchView } from './present.ts';

/** Answer of `GET /v1/batches/{id}/history`. @param now epoch milliseconds */
export function presentHistory(view: BatchView, history: BatchHistory, now: number, dates: DateForm) {
  const instant = instantFormats[dates];
  const end = endedAt(view.batch);
  return {
    object: 'batch.history',
    id: view.batch.id,
    states: statesOf(view).map(({ status, at }) => ({ status, at: instant(at) })),
    waits: history.waits.map(({ reason, message, since, until }) => ({
      reason,
      message,
      since: instant(since),
      until: nullable(instant)(until ?? end),
    })),
    omitted_waits: history.omittedWaits,
    points: pointsOf(view, history, end ?? now).map(([at, completed, failed, input, output]) => ({
      at: instant(at),
      completed,
      failed,
      input_tokens: input,
      output_tokens: output,
    })),
  };
}

/** States in the order in which the batch reached them. */
function statesOf({ batch }: BatchView) {
  const { status, createdAt, inProgressAt, cancellingAt } = batch;
  const reached = [
    { status: 'validating', at: createdAt },
    { status: 'in_progress', at: inProgressAt },
    { status: 'cancelling', at: cancellingAt },
    { status, at: isFinal(status) ? endedAt(batch) : null },
  ];
  return reached.filter((state): state is { status: string; at: number } => state.at !== null);
}

/** The recorded points, from the first request to the counts of now or of the end. */
function pointsOf({ batch, usage }: BatchView, { points }: BatchHistory, at: number): HistoryPoint[] {
  const { inProgressAt, ok, err } = batch;
  if (inProgressAt === null) return [];
  const start: HistoryPoint = [inProgressAt, 0, 0, 0, 0];
  const end: HistoryPoint = [at, ok, err, usage.inputTokens, usage.outputTokens];
  return [start, ...points.filter((point) => point[0] > inProgressAt && point[0] < at), end];
}

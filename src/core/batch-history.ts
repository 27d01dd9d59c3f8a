import type { Waiting, WaitingReason } from './waiting.ts';

/** Counts of a batch at an instant: `[epoch ms, completed, failed, input tokens, output tokens]`. */
export type HistoryPoint = readonly [
  at: number,
  ok: number,
  err: number,
  inputTokens: number,
  outputTokens: number,
];

/** Time in which a batch waited. Instants are epoch milliseconds. */
export interface HistoryWait {
  reason: WaitingReason;
  message: string;
  since: number;
  /** Null while it lasts. */
  until: number | null;
}

/** Progress and waits of a batch, of bounded size however long it runs. */
export interface BatchHistory {
  /** Shortest time between two points. It doubles whenever every other point is dropped. */
  intervalMs: number;
  points: readonly HistoryPoint[];
  waits: readonly HistoryWait[];
  /** Number of short waits that were dropped. */
  omittedWaits: number;
}

export const historyLimits = { points: 256, waits: 100, intervalMs: 2_000, messageLength: 500 } as const;
/** Waits for the same reason that are closer together are one. */
const sameWaitMs = 5_000;

export const noHistory: BatchHistory = Object.freeze({
  intervalMs: historyLimits.intervalMs,
  points: [],
  waits: [],
  omittedWaits: 0,
});

/** True if a point at this instant would be kept. */
export function isPointDue({ intervalMs, points }: BatchHistory, at: number): boolean {
  const last = points.at(-1);
  return !last || at - last[0] >= intervalMs;
}

/** Adds a point, unless it is too early. */
export function addPoint(history: BatchHistory, point: HistoryPoint): BatchHistory {
  if (!isPointDue(history, point[0])) return history;
  const points = [...history.points, point];
  if (points.length <= historyLimits.points) return { ...history, points };
  // The first and the last remain.
  const kept = points.filter((_, n) => n % 2 === 0);
  return { ...history, points: kept, intervalMs: history.intervalMs * 2 };
}

/** Wait that has not ended. */
export function currentWait({ waits }: BatchHistory): HistoryWait | undefined {
  const last = waits.at(-1);
  return last?.until === null ? last : undefined;
}

/** Notes that a batch waits since an instant for a reason, or that it waits no more. */
export function noteWait(history: BatchHistory, waiting: Waiting | null, at: number): BatchHistory {
  const current = currentWait(history);
  if (current?.reason === waiting?.reason) return history;
  const waits = history.waits.map((wait) => (wait === current ? { ...wait, until: at } : wait));
  if (!waiting) return { ...history, waits };
  const last = waits.at(-1);
  const since = Math.max(waiting.since, last?.until ?? 0);
  if (last && last.reason === waiting.reason && since - last.until! < sameWaitMs)
    return { ...history, waits: [...waits.slice(0, -1), { ...last, until: null }] };
  const message = waiting.message.slice(0, historyLimits.messageLength).toWellFormed();
  return bounded({ ...history, waits: [...waits, { reason: waiting.reason, message, since, until: null }] });
}

/** Drops the shortest wait of too many. */
function bounded(history: BatchHistory): BatchHistory {
  const { waits, omittedWaits } = history;
  if (waits.length <= historyLimits.waits) return history;
  const lengthOf = ({ since, until }: HistoryWait) => (until === null ? Infinity : until - since);
  const shortest = waits.reduce((a, b) => (lengthOf(b) < lengthOf(a) ? b : a));
  return { ...history, waits: waits.filter((wait) => wait !== shortest), omittedWaits: omittedWaits + 1 };
}

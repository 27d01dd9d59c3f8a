import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { linesLeft } from '../core/batch.ts';
import { type Hours, runningMs } from '../core/hours.ts';
import type { OpenBatch } from '../store/contract/batches.ts';
import type { OpenHours } from './open-hours.ts';

/** Share of its running time from which the rate of a batch is used, because the first answers say little. */
const minRateShare = 0.01;
/** Share of its running time after which a batch without progress is at risk, if nothing else is known. */
const maxIdleShare = 0.75;

/** When a batch can run. */
export interface RunTimes {
  /** Epoch milliseconds. */
  now: number;
  /** Epoch milliseconds from which the org may spend; Infinity if never. */
  from: number;
  /** Undefined for any time. */
  hours: Hours | undefined;
}

export interface TimesDeps {
  time: Pick<Clock, 'now'>;
  hours: Pick<OpenHours, 'find'>;
  budgets: Pick<Accounts['budgets'], 'waiting'>;
}

/** When batches of an org run, with one model or, for null, with several. */
export function runTimes({ time, hours, budgets }: TimesDeps, orgId: string, model: string | null): RunTimes {
  const now = time.now();
  const budget = budgets.waiting(orgId);
  const from = budget ? (budget.until ?? Number.POSITIVE_INFINITY) : now;
  return { now, from, hours: hours.find(model) };
}

/** Milliseconds that a batch may still run. */
export function timeLeft({ expiresAt }: Pick<OpenBatch, 'expiresAt'>, { from, hours }: RunTimes): number {
  return runningMs(hours, Math.min(from, expiresAt), expiresAt);
}

/** True if a batch will miss its window at its own rate; null while the rate is unknown. */
export function missesWindow(batch: OpenBatch, times: RunTimes): boolean | null {
  const rate = rateOf(batch, times.now, times.hours);
  return rate === null ? null : linesLeft(batch) / rate > timeLeft(batch, times);
}

/** Milliseconds that a batch in progress could run until `end`. */
export function workingTime(
  { inProgressAt, pausedAt, pausedMs }: Pick<OpenBatch, 'inProgressAt' | 'pausedAt' | 'pausedMs'>,
  end: number,
  hours: Hours | undefined,
): number {
  const begun = inProgressAt ?? end;
  const paused = pausedMs + (pausedAt === null ? 0 : end - pausedAt);
  // Only the length of the pauses is known: they are spread evenly over the time in and out of hours.
  return runningMs(hours, begun, end) * (1 - paused / Math.max(1, end - begun));
}

/**
 * Ids of the batches that will miss their windows: by their own rate or, where they have none, by the rate of their org and
 * model and the batches before them.
 * @param batches all open batches
 * @param timesOf for an org and a model, or null for several models
 */
export function batchesAtRisk(
  batches: readonly OpenBatch[],
  timesOf: (orgId: string, model: string | null) => RunTimes,
): string[] {
  const groups = Map.groupBy(batches, ({ orgId, model }) => `${orgId} ${model}`);
  return [...groups.values()].flatMap((group) => atRisk(group, timesOf(group[0]!.orgId, group[0]!.model)));
}

function atRisk(group: readonly OpenBatch[], times: RunTimes): string[] {
  const { now, hours } = times;
  const rate = group.reduce((sum, batch) => sum + (rateOf(batch, now, hours) ?? 0), 0);
  const ids: string[] = [];
  let ahead = 0;
  for (const batch of group.toSorted((a, b) => a.due - b.due)) {
    ahead += linesLeft(batch);
    const left = timeLeft(batch, times);
    const isLate =
      missesWindow(batch, times) ??
      (rate > 0 ? ahead / rate > left : left === 0 || isIdle(batch, now, hours));
    if (isLate) ids.push(batch.id);
  }
  return ids;
}

function isIdle(
  { createdAt, expiresAt, pausedAt, pausedMs }: OpenBatch,
  now: number,
  hours: Hours | undefined,
): boolean {
  // Clock jumps, such as the sleep of a laptop, are counted in `pausedMs`.
  const begun = createdAt + pausedMs + (pausedAt === null ? 0 : now - pausedAt);
  return runningMs(hours, begun, now) >= maxIdleShare * runningMs(hours, begun, expiresAt);
}

/** Requests per millisecond of running time; null while unknown. */
function rateOf(batch: OpenBatch, now: number, hours: Hours | undefined): number | null {
  const { createdAt, inProgressAt, expiresAt, ok, err } = batch;
  if (inProgressAt === null || ok + err === 0) return null;
  const elapsed = workingTime(batch, now, hours);
  const min = minRateShare * runningMs(hours, createdAt, expiresAt);
  return elapsed <= 0 || elapsed < min ? null : (ok + err) / elapsed;
}

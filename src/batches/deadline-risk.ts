import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { type Hours, runningMs } from '../core/hours.ts';
import type { OpenBatch } from '../store/contract/batches.ts';
import type { OpenHours } from './open-hours.ts';

/** What a pace is told by, as a share of the time to run: the first answers of a batch say little. */
const minRateShare = 0.01;
/** A batch of which nothing is known is late when nothing of it was done in this share of its time to run. */
const maxIdleShare = 0.75;

/** What is known of when a batch runs. */
export interface RunTimes {
  /** Epoch milliseconds. */
  now: number;
  /** From when on its organization may spend: now, or later, or never again. */
  from: number;
  /** Undefined for at any time. */
  hours: Hours | undefined;
}

export interface TimesDeps {
  time: Pick<Clock, 'now'>;
  hours: Pick<OpenHours, 'find'>;
  budgets: Pick<Accounts['budgets'], 'waiting'>;
}

/** When batches of an organization run: those with a model or, for null, with several. */
export function runTimes({ time, hours, budgets }: TimesDeps, orgId: string, model: string | null): RunTimes {
  const now = time.now();
  const noMoney = budgets.waiting(orgId);
  const from = noMoney ? (noMoney.until ?? Number.POSITIVE_INFINITY) : now;
  return { now, from, hours: hours.find(model) };
}

/** How many milliseconds are left to a batch to run. */
export function timeLeft({ expiresAt }: Pick<OpenBatch, 'expiresAt'>, { from, hours }: RunTimes): number {
  return runningMs(hours, Math.min(from, expiresAt), expiresAt);
}

/** Whether a batch will miss its window by its own pace so far; null while that says little. */
export function missesWindow(batch: OpenBatch, times: RunTimes): boolean | null {
  const rate = rateOf(batch, times.now, times.hours);
  return rate === null ? null : leftOf(batch) / rate > timeLeft(batch, times);
}

/** How many milliseconds a batch that has begun could run, until `end`. */
export function workingTime(
  { inProgressAt, pausedAt, pausedMs }: Pick<OpenBatch, 'inProgressAt' | 'pausedAt' | 'pausedMs'>,
  end: number,
  hours: Hours | undefined,
): number {
  const begun = inProgressAt ?? end;
  const paused = pausedMs + (pausedAt === null ? 0 : end - pausedAt);
  // When it was paused is not known, only for how long: as much of that is taken to have been in its hours as of all.
  return runningMs(hours, begun, end) * (1 - paused / Math.max(1, end - begun));
}

/**
 * The ids of those that will miss their windows: by their own pace or, where they have none yet, by that of their
 * organization with their model and by what goes before them there.
 * @param batches all that are not finished
 * @param timesOf when those of an organization and a model run, or of several models for null
 */
export function batchesAtRisk(
  batches: readonly OpenBatch[],
  timesOf: (orgId: string, model: string | null) => RunTimes,
): string[] {
  const groups = Map.groupBy(batches, ({ orgId, model }) => `${orgId} ${model}`);
  return [...groups.values()].flatMap((group) => lateIn(group, timesOf(group[0]!.orgId, group[0]!.model)));
}

function lateIn(group: readonly OpenBatch[], times: RunTimes): string[] {
  const { now, hours } = times;
  const rate = group.reduce((sum, batch) => sum + (rateOf(batch, now, hours) ?? 0), 0);
  const late: string[] = [];
  let ahead = 0;
  for (const batch of group.toSorted((a, b) => a.due - b.due)) {
    ahead += leftOf(batch);
    const left = timeLeft(batch, times);
    const isLate =
      missesWindow(batch, times) ??
      (rate > 0 ? ahead / rate > left : left === 0 || isSilent(batch, now, hours));
    if (isLate) late.push(batch.id);
  }
  return late;
}

function isSilent(
  { createdAt, expiresAt, pausedAt, pausedMs }: OpenBatch,
  now: number,
  hours: Hours | undefined,
): boolean {
  // What the clock jumped, as over the sleep of a laptop, is none of the time in which it could have run either.
  const begun = createdAt + pausedMs + (pausedAt === null ? 0 : now - pausedAt);
  return runningMs(hours, begun, now) >= maxIdleShare * runningMs(hours, begun, expiresAt);
}

/** Requests a millisecond of the time that it could run. */
function rateOf(batch: OpenBatch, now: number, hours: Hours | undefined): number | null {
  const { createdAt, inProgressAt, expiresAt, ok, err } = batch;
  if (inProgressAt === null || ok + err === 0) return null;
  const elapsed = workingTime(batch, now, hours);
  const least = minRateShare * runningMs(hours, createdAt, expiresAt);
  return elapsed <= 0 || elapsed < least ? null : (ok + err) / elapsed;
}

function leftOf({ total, ok, err }: OpenBatch): number {
  return total - ok - err;
}

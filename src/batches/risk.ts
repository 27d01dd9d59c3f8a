import { type Hours, runTime } from '../core/hours.ts';
import type { OpenBatch } from '../store/contract/batches.ts';

/** What a pace is told by, as a share of the time to run: the first answers of a batch say little. */
const leastShare = 0.01;
/** A batch of which nothing is known is late when nothing of it was done in this share of its time to run. */
const silentShare = 0.75;

/** Whether a batch will miss its window by its own pace so far; null while that says little. */
export function missesWindow(batch: OpenBatch, now: number, hours: Hours | undefined): boolean | null {
  const rate = rateOf(batch, now, hours);
  return rate === null ? null : leftOf(batch) / rate > runTime(hours, now, batch.expiresAt);
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
  return runTime(hours, begun, end) * (1 - paused / Math.max(1, end - begun));
}

/**
 * The ids of those that will miss their windows: by their own pace or, where they have none yet, by that of their
 * organization with their model and by what goes before them there.
 * @param batches all that are not finished
 * @param now epoch milliseconds
 * @param hoursOf when batches of a model run, or of several for null; undefined for at any time
 */
export function lateOnes(
  batches: readonly OpenBatch[],
  now: number,
  hoursOf: (model: string | null) => Hours | undefined,
): string[] {
  const groups = Map.groupBy(batches, ({ orgId, model }) => `${orgId} ${model}`);
  return [...groups.values()].flatMap((group) => lateIn(group, now, hoursOf(group[0]!.model)));
}

function lateIn(group: readonly OpenBatch[], now: number, hours: Hours | undefined): string[] {
  const rate = group.reduce((sum, batch) => sum + (rateOf(batch, now, hours) ?? 0), 0);
  const late: string[] = [];
  let ahead = 0;
  for (const batch of group.toSorted((a, b) => a.due - b.due)) {
    ahead += leftOf(batch);
    const isLate =
      missesWindow(batch, now, hours) ??
      (rate > 0 ? ahead / rate > runTime(hours, now, batch.expiresAt) : isSilent(batch, now, hours));
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
  return runTime(hours, begun, now) >= silentShare * runTime(hours, begun, expiresAt);
}

/** Requests a millisecond of the time that it could run. */
function rateOf(batch: OpenBatch, now: number, hours: Hours | undefined): number | null {
  const { createdAt, inProgressAt, expiresAt, ok, err } = batch;
  if (inProgressAt === null || ok + err === 0) return null;
  const elapsed = workingTime(batch, now, hours);
  const least = leastShare * runTime(hours, createdAt, expiresAt);
  return elapsed <= 0 || elapsed < least ? null : (ok + err) / elapsed;
}

function leftOf({ total, ok, err }: OpenBatch): number {
  return total - ok - err;
}

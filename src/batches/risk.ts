import type { OpenBatch } from '../store/store.ts';

/** What a pace is told by, as a share of the window: the first answers of a batch say little. */
const leastShare = 0.01;
/** A batch of which nothing is known is late when nothing of it was done in this share of its window. */
const silentShare = 0.75;

/**
 * When a batch will have ended by its own pace so far, in epoch milliseconds; null while that says little.
 * @param now epoch milliseconds
 */
export function expectedEnd(batch: OpenBatch, now: number): number | null {
  const rate = rateOf(batch, now);
  return rate === null ? null : now + leftOf(batch) / rate;
}

/**
 * The ids of those that will miss their windows: by their own pace or, where they have none yet, by that of their
 * organization with their model and by what goes before them there.
 * @param batches all that are not finished
 * @param now epoch milliseconds
 */
export function lateOnes(batches: readonly OpenBatch[], now: number): string[] {
  const groups = Map.groupBy(batches, ({ orgId, model }) => `${orgId} ${model}`);
  return [...groups.values()].flatMap((group) => lateIn(group, now));
}

function lateIn(group: readonly OpenBatch[], now: number): string[] {
  const rate = group.reduce((sum, batch) => sum + (rateOf(batch, now) ?? 0), 0);
  const late: string[] = [];
  let ahead = 0;
  for (const batch of group.toSorted((a, b) => a.due - b.due)) {
    ahead += leftOf(batch);
    const { createdAt, expiresAt } = batch;
    const end = expectedEnd(batch, now) ?? (rate > 0 ? now + ahead / rate : null);
    const isSilent = now - createdAt >= silentShare * (expiresAt - createdAt);
    if (end === null ? isSilent : end > expiresAt) late.push(batch.id);
  }
  return late;
}

/** Requests a millisecond. */
function rateOf(batch: OpenBatch, now: number): number | null {
  const { createdAt, inProgressAt, expiresAt, ok, err, pausedAt, pausedMs } = batch;
  if (inProgressAt === null || ok + err === 0) return null;
  const elapsed = now - inProgressAt - pausedMs - (pausedAt === null ? 0 : now - pausedAt);
  return elapsed < leastShare * (expiresAt - createdAt) ? null : (ok + err) / elapsed;
}

function leftOf({ total, ok, err }: OpenBatch): number {
  return total - ok - err;
}

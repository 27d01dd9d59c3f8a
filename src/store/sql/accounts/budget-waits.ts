import { type SpentBudget, spenderOf } from '../../../core/budget.ts';
import type { Queries } from '../../db.ts';
import { conditions } from '../table.ts';

/** SQL: the times since when the hard budgets of the org and the key of a batch are used up; null for those that are not. */
const waits = {
  orgs: '(SELECT o.used_up_at FROM orgs o WHERE o.id = batches.org_id AND o.budget_hard = 1)',
  api_keys: '(SELECT k.used_up_at FROM api_keys k WHERE k.id = batches.key_id AND k.budget_hard = 1)',
} as const;

/** SQL: the earliest of these times that is known. */
function earliest(times: readonly string[]): string {
  return `(SELECT min(at) FROM (${times.map((time) => `SELECT ${time} AS at`).join(' UNION ALL ')}) AS times)`;
}

/**
 * SQL: milliseconds from `from` to the time at which the first of other waits began that go on; the parameter is the end of this
 * wait. The last of several waits to end counts what they have in common.
 */
function span(from: string, others: readonly string[]): string {
  const ms = `${earliest(['CAST(? AS bigint)', ...others])} - ${from}`;
  return `(SELECT max(ms) FROM (SELECT 0 AS ms UNION ALL SELECT ${ms}) AS spans)`;
}

/** SQL: milliseconds to count for the end of a pause of a batch; the parameter is that time. */
export const pauseSpan = span('batches.paused_at', Object.values(waits));

/** Counts the time from `since` on as a pause of the batches that were in progress then. */
export async function addWait(
  q: Queries,
  budget: Pick<SpentBudget, 'orgId' | 'keyId' | 'keyFamily'>,
  since: number,
  now: number,
): Promise<void> {
  const { orgId, keyId } = budget;
  const where = conditions({
    'org_id = ?': orgId,
    'COALESCE(key_family, key_id) = ?': keyId === null ? undefined : spenderOf(budget),
  });
  const from = `CASE WHEN in_progress_at > ? THEN in_progress_at ELSE CAST(? AS bigint) END`;
  const others = ['batches.paused_at', keyId === null ? waits.api_keys : waits.orgs];
  await q.all(
    `UPDATE batches SET paused_ms = paused_ms + ${span(from, others)}
     WHERE ${where.sql} AND status = 'in_progress' AND closing IS NULL`,
    [now, since, since, ...where.params],
  );
}

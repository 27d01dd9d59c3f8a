import { sum } from '../../../base/sum.ts';
import type { RemoteBatch } from '../../../client/resources.ts';
import { isFinal } from '../../../core/batch.ts';
import { formatDollars, parseDollars } from '../../../core/price.ts';

/**
 * Combines the batches of a run into one of `requests` requests: the sums of their counts, rates and costs, and the state
 * of the first unfinished one. A single complete batch is returned unchanged.
 */
export function combineBatches(batches: readonly RemoteBatch[], requests: number): RemoteBatch {
  const open = batches.filter(({ status }) => !isFinal(status));
  const shown = open[0] ?? worst(batches);
  if (batches.length === 1 && shown.request_counts.total === requests) return shown;
  const completed = sum(batches.map(({ request_counts: counts }) => counts.completed));
  const failed = sum(batches.map(({ request_counts: counts }) => counts.failed));
  const rate = sum(open.map(({ progress }) => progress?.rate_per_minute ?? 0));
  return {
    ...shown,
    request_counts: { total: requests, completed, failed },
    progress: {
      pending: requests - completed - failed,
      running: sum(batches.map(({ progress }) => progress?.running ?? 0)),
      rate_per_minute: rate > 0 ? rate : null,
      // Known for single batches only.
      eta: null,
      batches_ahead: null,
    },
    cost: sumOfCosts(batches),
    error_summary: sumOfFailures(batches),
  };
}

const severity = ['completed', 'cancelled', 'expired', 'failed'];

function worst(batches: readonly RemoteBatch[]): RemoteBatch {
  return batches.reduce((one, other) =>
    severity.indexOf(other.status) > severity.indexOf(one.status) ? other : one,
  );
}

function sumOfCosts(batches: readonly RemoteBatch[]): RemoteBatch['cost'] {
  const costs = batches.flatMap(({ cost }) => cost ?? []);
  const [first] = costs;
  if (first === undefined || costs.some(({ currency }) => currency !== first.currency)) return null;
  const total = (of: 'amount' | 'list_amount' | 'uncached_amount') =>
    formatDollars(costs.reduce((dollars, cost) => dollars + parseDollars(cost[of] ?? cost.list_amount), 0n));
  return {
    currency: first.currency,
    amount: total('amount'),
    list_amount: total('list_amount'),
    uncached_amount: total('uncached_amount'),
  };
}

function sumOfFailures(batches: readonly RemoteBatch[]): RemoteBatch['error_summary'] {
  const byCode = Map.groupBy(
    batches.flatMap(({ error_summary: summary }) => summary ?? []),
    ({ code }) => code,
  );
  return [...byCode].map(([code, parts]) => ({
    code,
    count: sum(parts.map(({ count }) => count)),
    example: parts[0]!.example,
  }));
}

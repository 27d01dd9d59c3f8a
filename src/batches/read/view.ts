import { type Batch, endedAt, isFinal, linesLeft } from '../../core/batch.ts';
import { timeAfterRunning } from '../../core/hours.ts';
import { linesNotRun } from '../../core/line.ts';
import { cost, type Prices } from '../../core/price.ts';
import { addUsage, noUsage, type Usage } from '../../core/usage.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { LedgerRow } from '../../store/contract/accounts.ts';
import type { QueuePlace } from '../../store/contract/batches.ts';
import type { ErrorSummary } from '../../store/contract/results.ts';
import { missesWindow, type RunTimes, timeLeft, workingTime } from '../deadline-risk.ts';
import type { BatchView } from '../../wire/batch/present.ts';

const minuteMs = 60_000;

/** Estimated cost of a batch: token sums by model times prices, rounded once per model. */
export function totalAmount(
  usages: ReadonlyMap<string, Usage>,
  prices: Record<string, Prices>,
  factor: number,
): bigint {
  let total = 0n;
  for (const [model, usage] of usages) {
    const price = prices[model];
    if (price) total += cost(usage, price, factor);
  }
  return total;
}

/** Cost without the discount: from the bill where prices depend on the length of each prompt. */
function listAmount(
  usages: ReadonlyMap<string, Usage>,
  { prices, priceFactor }: Batch,
  billed: bigint,
): bigint {
  const hasTiers = Object.values(prices).some(({ tiers }) => tiers !== undefined);
  if (!hasTiers || priceFactor === 0) return totalAmount(usages, prices, 1);
  return BigInt(Math.round(Number(billed) / priceFactor));
}

/** Amount that the cached input saved, against the price of other input. */
function cacheSaving(usages: ReadonlyMap<string, Usage>, prices: Batch['prices']): bigint {
  const uncached = [...usages].map(([model, usage]) => [model, { ...usage, cachedTokens: 0 }] as const);
  return totalAmount(new Map(uncached), prices, 1) - totalAmount(usages, prices, 1);
}

/** Cost of a batch as billed. Rows of version 0.1.0 have no amount. */
function billedAmount(rows: readonly LedgerRow[], { prices, priceFactor }: Batch): bigint {
  return rows.reduce((sum, { amount, model, usage }) => {
    const price = prices[model];
    if (amount === null && price) return sum + cost(usage, price, priceFactor);
    return sum + BigInt(amount ?? 0);
  }, 0n);
}

export function usageByModel(rows: readonly LedgerRow[]): Map<string, Usage> {
  const sums = new Map<string, Usage>();
  for (const { model, usage } of rows) sums.set(model, addUsage(sums.get(model) ?? noUsage, usage));
  return sums;
}

/** A batch with derived values: tokens and cost from its ledger rows, progress from its counts. */
export function toBatchView(
  batch: Batch,
  ledger: readonly LedgerRow[],
  extra: {
    running: number;
    errorSummary: ErrorSummary[];
    waiting: Waiting | null;
    /** Place of a queued batch; else null. */
    place: QueuePlace | null;
    times: RunTimes;
  },
): BatchView {
  const byModel = usageByModel(ledger);
  const amount = billedAmount(ledger, batch);
  const { running, errorSummary, waiting, place, times } = extra;
  const { ratePerMinute, eta } = pace(batch, times, batch.ok + batch.err - linesNotRun(errorSummary));
  const list = listAmount(byModel, batch, amount);
  return {
    batch,
    usage: [...byModel.values()].reduce(addUsage, noUsage),
    amount,
    listAmount: list,
    uncachedAmount: list + cacheSaving(byModel, batch.prices),
    running,
    errorSummary,
    waiting,
    place,
    // Administrators know that these batches may expire.
    atRisk: waiting?.reason !== 'org_disabled' && waiting?.reason !== 'budget' && isAtRisk(batch, times),
    ratePerMinute,
    // The rate so far does not show when a model takes requests again; its hours do.
    eta: waiting && waiting.reason !== 'hours' ? null : eta,
  };
}

/** Judges by the batch's own rate if known: it may have recovered since it was first seen at risk. */
export function isAtRisk(batch: Batch, times: RunTimes): boolean {
  if (isFinal(batch.status) || batch.closing !== null) return false;
  return missesWindow(batch, times) ?? (batch.atRiskAt !== null || timeLeft(batch, times) === 0);
}

/** @param ran lines that ended after they ran */
function pace(
  batch: Batch,
  { now, hours }: RunTimes,
  ran: number,
): { ratePerMinute: number | null; eta: number | null } {
  if (batch.inProgressAt === null) return { ratePerMinute: null, eta: null };
  const end = endedAt(batch) ?? now;
  const finished = batch.ok + batch.err;
  // A batch may have run before its model had hours.
  const elapsed = Math.max(1, workingTime(batch, end, hours) || workingTime(batch, end, undefined));
  const ratePerMinute = Math.round((ran * minuteMs * 10) / elapsed) / 10;
  if (isFinal(batch.status) || finished === 0) return { ratePerMinute, eta: null };
  const runMs = (linesLeft(batch) * elapsed) / finished;
  return { ratePerMinute, eta: Math.round(timeAfterRunning(hours, now, runMs)) };
}

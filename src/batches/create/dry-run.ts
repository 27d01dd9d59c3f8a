import type { CreateBatch } from '../../core/batch.ts';
import type { Caller } from '../../core/org.ts';
import { addUsage, noUsage } from '../../core/usage.ts';
import type { DryRun } from '../../wire/batch/present.ts';
import { type CountDeps, countInput } from './count-input.ts';
import {
  type BatchInput,
  type CreateDeps,
  freezePrices,
  openInput,
  openRetry,
  refreshPeerModels,
  priorityFor,
  type Retry,
  windowOf,
} from './create.ts';
import { forecast, type ForecastDeps } from './forecast.ts';
import { estimatedAmount, estimateUsage } from './estimate.ts';
import { quotaOf } from './quota.ts';

export interface DryRunDeps {
  creating: CreateDeps;
  counting: CountDeps;
  forecasting: ForecastDeps;
}

/** Validates, counts and prices a batch, and compares it with its limits, without storing anything. */
export async function dryRun(deps: DryRunDeps, caller: Caller, input: CreateBatch): Promise<DryRun> {
  const opened = await openInput(deps.creating, caller, input, { isDiscarded: true });
  return estimate(deps, caller, input, opened);
}

/** Counts and prices the lines of a retry, without storing anything. */
export async function retryDryRun(deps: DryRunDeps, caller: Caller, retry: Retry): Promise<DryRun> {
  const opened = await openRetry(deps.creating, caller, retry, { isDiscarded: true });
  return estimate(deps, caller, retry.of, opened);
}

async function estimate(
  deps: DryRunDeps,
  caller: Caller,
  { endpoint, priority }: Pick<CreateBatch, 'endpoint' | 'priority'>,
  opened: BatchInput,
): Promise<DryRun> {
  const { catalog, batch, billingClock, clock } = deps.creating;
  const { prices, counted } = await priceAndCount(deps, caller, opened);
  const byRates = estimateUsage(opened.index, (name) => prices[catalog.idOf(name)]!, counted);
  return {
    endpoint,
    total: opened.index.count,
    forecast: await forecast(deps.forecasting, caller, {
      index: opened.index,
      ...windowOf(clock.now(), batch.completionWindowMs, {
        est: opened.index.est.reduce((sum, tokens) => sum + tokens, 0),
        priority: priorityFor(caller, priority),
      }),
    }),
    quota: await quotaOf(deps.creating, caller, opened, billingClock.now()),
    warnings: opened.file.warnings,
    exactInput: counted.every((tokens) => tokens !== undefined),
    usage: [...byRates.values()].reduce(addUsage, noUsage),
    amount: estimatedAmount(byRates, batch.priceFactor),
    listAmount: estimatedAmount(byRates, 1),
  };
}

/** Prices and counts an input, and discards what was written of it. */
async function priceAndCount({ creating, counting }: DryRunDeps, caller: Caller, opened: BatchInput) {
  const { catalog, billingClock } = creating;
  try {
    await refreshPeerModels(catalog, opened);
    const prices = freezePrices(
      catalog,
      caller,
      { endpoint: opened.file.endpoint, models: opened.index.models },
      billingClock.now(),
    );
    return { prices, counted: await countInput(counting, caller.orgId, opened) };
  } finally {
    await opened.sealed?.discard();
  }
}

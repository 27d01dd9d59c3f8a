import type { BatchEndpoint, CreateBatch } from '../../core/batch.ts';
import { defaultWindow } from '../../core/batch-window.ts';
import type { Caller } from '../../core/org.ts';
import { addUsage, noUsage } from '../../core/usage.ts';
import type { DryRun } from '../../wire/batch/present.ts';
import { type BatchInput, openInput, openRetry, refreshPeerModels, type Retry } from './batch-input.ts';
import { type CountDeps, countInput } from './count-input.ts';
import type { CreateDeps } from '../batch-context.ts';
import { estimatedAmount, estimateUsage } from './estimate.ts';
import type { ForecastDeps } from './forecast.ts';
import { freezePrices, priorityFor } from './new-batch.ts';
import { quotaOf } from './quota.ts';
import { forecastWindows, retriedWindow, windowRefusal } from './windows.ts';

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
  const window = retriedWindow(deps.creating.batch.windows, retry.window, retry.of);
  return estimate(deps, caller, { ...retry.of, ...(window && { window }) }, opened);
}

async function estimate(
  deps: DryRunDeps,
  caller: Caller,
  { endpoint, priority, window: named }: Pick<CreateBatch, 'endpoint' | 'priority' | 'window'>,
  opened: BatchInput,
): Promise<DryRun> {
  const { catalog, batch, billingClock, clock } = deps.creating;
  const { prices, counted } = await priceAndCount(deps, caller, endpoint, opened);
  const byRates = estimateUsage(opened.index, (name) => prices[catalog.idOf(name)]!, counted);
  const forecasts = await forecastWindows(deps.forecasting, caller, batch.windows, {
    index: opened.index,
    priority: priorityFor(caller, priority),
    now: clock.now(),
  });
  const quotes = forecasts.map((each) => ({
    ...each,
    amount: estimatedAmount(byRates, each.window.priceFactor),
  }));
  const chosen = named ?? defaultWindow(batch.windows);
  const refused = windowRefusal(named, forecasts);
  const quota = await quotaOf(deps.creating, caller, opened, billingClock.now());
  return {
    endpoint,
    total: opened.index.count,
    ...quotes.find(({ window }) => window === chosen)!,
    quotes,
    quota: { ...quota, refusals: [...(refused ? [refused] : []), ...quota.refusals] },
    warnings: opened.file.warnings,
    exactInput: counted.every((tokens) => tokens !== undefined),
    usage: [...byRates.values()].reduce(addUsage, noUsage),
    listAmount: estimatedAmount(byRates, 1),
  };
}

/** Prices and counts an input, and deletes the file that was written for it. */
async function priceAndCount(
  { creating, counting }: DryRunDeps,
  caller: Caller,
  endpoint: BatchEndpoint,
  opened: BatchInput,
) {
  const { catalog, billingClock } = creating;
  try {
    await refreshPeerModels(catalog, opened);
    const prices = freezePrices(catalog, caller, endpoint, opened.index.models, billingClock.now());
    return { prices, counted: await countInput(counting, caller.orgId, opened) };
  } finally {
    await opened.sealed?.discard();
  }
}

import type { Batch, BatchEndpoint, DateForm } from '../../core/batch.ts';
import { type BatchWindow, windowName } from '../../core/batch-window.ts';
import { batchName } from '../../core/batch-search.ts';
import type { SpentBudget } from '../../core/budget.ts';
import type { ApiError } from '../../core/errors.ts';
import type { FieldWarning } from '../../core/field-warning.ts';
import { formatDollars } from '../../core/price.ts';
import type { QuotaLimit } from '../../core/queue-limits.ts';
import type { Usage } from '../../core/usage.ts';
import type { Waiting } from '../../core/waiting.ts';
import { instantFormats, nullable } from '../shared/instant.ts';
import { presentWarnings } from '../shared/field-warnings.ts';
import { presentWaiting } from '../shared/waiting.ts';

/** Batch with values that are computed on reading. */
export interface BatchView {
  batch: Batch;
  usage: Usage;
  /** Nano-dollars at the batch price. */
  amount: bigint;
  /** Nano-dollars that the same usage costs at the synchronous price. */
  listAmount: bigint;
  /** `listAmount` if no input had come from a prompt cache. */
  uncachedAmount: bigint;
  running: number;
  /** Finished lines per minute since the start, or null before. */
  ratePerMinute: number | null;
  /** Epoch milliseconds; null if unknown, finished or waiting. */
  eta: number | null;
  /** Reason why no requests are being sent, or null. */
  waiting: Waiting | null;
  /** Place of a queued batch: the batches of the org that are ahead, and the weight of the org; else null. */
  place: { ahead: number; weight: number } | null;
  /** True if the batch will miss its window. */
  atRisk: boolean;
  errorSummary: readonly { code: string; count: number; example: string }[];
}

export interface DryRun {
  endpoint: BatchEndpoint;
  total: number;
  /** Input tokens, and the most output tokens. */
  usage: Usage;
  /** True if the engines counted all input tokens; else some are estimated. */
  exactInput: boolean;
  warnings: readonly FieldWarning[];
  /** Window that the request names, or the default one; `amount` and `forecast` are for this one. */
  window: BatchWindow;
  amount: bigint;
  listAmount: bigint;
  forecast: Forecast;
  /** Price and forecast in each of the offered windows, shortest first. */
  quotes: readonly WindowQuote[];
  /** Limits and budgets that the batch would count against, and the errors with which it would be refused now. */
  quota: {
    limits: readonly QuotaLimit[];
    budgets: readonly SpentBudget[];
    refusals: readonly Pick<ApiError, 'code' | 'message'>[];
  };
}

/** Offer of a window for a new batch. */
interface WindowQuote {
  window: BatchWindow;
  /** Nano-dollars. */
  amount: bigint;
  forecast: Forecast;
}

/** When a new batch would be done, at the measured rates. */
export interface Forecast {
  /** Epoch milliseconds; null while a rate is unknown or a model takes no requests. */
  eta: number | null;
  /** Instant before which the batch will not be done, as far as it is known; `eta` if that is known. */
  earliest: number | null;
  /** Estimated tokens of other batches that are completed before. */
  tokensAhead: number;
  /** True if the batch would miss its window. */
  atRisk: boolean;
  /** Reason why one of the models takes no requests now, or null. */
  waiting: Waiting | null;
}

export function presentBatch(view: BatchView, dates: DateForm) {
  const { batch } = view;
  const instant = instantFormats[dates];
  const instantOrNull = nullable(instant);
  const { total, ok, err } = batch;
  const errors = batch.errors.map(({ code, message, param, line }) => ({ code, message, param, line }));
  return {
    id: batch.id,
    object: 'batch',
    name: batchName(batch),
    endpoint: batch.endpoint,
    model: batch.model,
    priority: batch.priority,
    status: batch.status,
    input_file_id: batch.inputFileId,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    completion_window: windowName(batch.windowMs ?? formerWindow(batch)),
    retry_of: batch.retryOf,
    errors: errors.length === 0 ? null : { object: 'list', data: errors },
    created_at: instant(batch.createdAt),
    in_progress_at: instantOrNull(batch.inProgressAt),
    expires_at: instant(batch.expiresAt),
    completed_at: instantOrNull(batch.completedAt),
    failed_at: instantOrNull(batch.failedAt),
    expired_at: instantOrNull(batch.expiredAt),
    cancelling_at: instantOrNull(batch.cancellingAt),
    cancelled_at: instantOrNull(batch.cancelledAt),
    request_counts: { total, completed: ok, failed: err },
    progress: {
      pending: Math.max(0, total - ok - err - view.running),
      running: view.running,
      rate_per_minute: view.ratePerMinute === null ? null : Math.round(view.ratePerMinute * 10) / 10,
      eta: instantOrNull(view.eta),
      batches_ahead: view.place?.ahead ?? null,
    },
    waiting: presentBatchWaiting(view, instant),
    at_risk: view.atRisk,
    usage: presentBatchUsage(view.usage),
    cost: { ...presentCost(view), uncached_amount: formatDollars(view.uncachedAmount) },
    error_summary: view.errorSummary.map(({ code, count, example }) => ({ code, count, example })),
    warnings: presentWarnings(batch.warnings),
  };
}

/** A wait in the queue says what decides its length besides the other requests. */
function presentBatchWaiting({ batch, waiting, place }: BatchView, instant: (ms: number) => string | number) {
  const shown = presentWaiting(waiting, instant);
  return shown && place ? { ...shown, priority: batch.priority, weight: place.weight } : shown;
}

/** Window of a batch of an earlier version, rounded to minutes from one hour on, because a clock that jumped shifts it. */
function formerWindow({ createdAt, expiresAt }: Batch): number {
  const ms = expiresAt - createdAt;
  return ms < 3_600_000 ? ms : Math.round(ms / 60_000) * 60_000;
}

/** Batch resource as JSON text. The metadata is inserted unparsed, so that its numbers keep every digit. */
export function batchJson(view: BatchView, dates: DateForm): string {
  const body = JSON.stringify(presentBatch(view, dates));
  return `${body.slice(0, -1)},"metadata":${view.batch.metadata ?? '{}'}}`;
}

/** Batch resource for operators, with its org. */
export function operatorBatchJson(view: BatchView, dates: DateForm, orgName: string | null): string {
  const owner = JSON.stringify({ org_id: view.batch.orgId, org: orgName });
  return `${batchJson(view, dates).slice(0, -1)},${owner.slice(1)}`;
}

/** Answer of a dry run. Cached and reasoning tokens are absent, because they are unknown before a batch runs. */
export function presentEstimate(estimate: DryRun, dates: DateForm) {
  const { eta, tokensAhead, atRisk, waiting } = estimate.forecast;
  const instant = instantFormats[dates];
  return {
    object: 'batch.estimate',
    endpoint: estimate.endpoint,
    completion_window: windowName(estimate.window.ms),
    request_counts: { total: estimate.total, completed: 0, failed: 0 },
    usage: presentTokens(estimate.usage),
    exact_input: estimate.exactInput,
    cost: presentCost(estimate),
    forecast: {
      eta: nullable(instant)(eta),
      tokens_ahead: tokensAhead,
      at_risk: atRisk,
      waiting: presentWaiting(waiting, instant),
    },
    windows: estimate.quotes.map((quote) => presentQuote(quote, estimate, dates)),
    quota: presentQuota(estimate),
    warnings: presentWarnings(estimate.warnings),
  };
}

function presentQuote(
  { window, amount, forecast: { eta, earliest, tokensAhead, atRisk } }: WindowQuote,
  { listAmount }: DryRun,
  dates: DateForm,
) {
  return {
    completion_window: windowName(window.ms),
    cost: presentCost({ amount, listAmount }),
    can_be_met: atRisk ? false : eta === null ? null : true,
    eta: nullable(instantFormats[dates])(atRisk ? earliest : eta),
    tokens_ahead: tokensAhead,
  };
}

function presentQuota({ quota, amount: adds }: DryRun) {
  return {
    fits: quota.refusals.length === 0,
    reasons: quota.refusals.map(({ code, message }) => ({ code, message })),
    limits: quota.limits.map(({ name, owner, model, limit, used, adds: added }) => ({
      name,
      owner,
      model,
      limit,
      used,
      adds: added,
    })),
    budgets: quota.budgets.map(({ keyId, period, hard = true, amount, spent }) => ({
      owner: keyId === null ? 'org' : 'key',
      period,
      hard,
      amount: formatDollars(BigInt(amount)),
      spent: formatDollars(BigInt(spent)),
      adds: formatDollars(adds),
    })),
  };
}

function presentBatchUsage(usage: Usage) {
  const { input_tokens, output_tokens, total_tokens } = presentTokens(usage);
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens,
  };
}

function presentTokens({ inputTokens, outputTokens }: Usage) {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

function presentCost({ amount, listAmount }: { amount: bigint; listAmount: bigint }) {
  return { currency: 'USD', amount: formatDollars(amount), list_amount: formatDollars(listAmount) };
}

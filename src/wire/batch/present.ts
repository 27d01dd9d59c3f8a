import { formatExactDuration } from '../../base/duration.ts';
import type { Batch, BatchEndpoint, BatchFault, DateForm } from '../../core/batch.ts';
import { formatDollars } from '../../core/price.ts';
import type { Usage } from '../../core/usage.ts';
import type { Waiting } from '../../core/waiting.ts';
import { instantFormats, nullable } from '../shared/instant.ts';
import { presentWaiting } from '../shared/waiting.ts';

/** A batch with what is added up on reading. */
export interface BatchView {
  batch: Batch;
  usage: Usage;
  /** Nano-dollars at the batch price, and what the same usage costs synchronously. */
  amount: bigint;
  listAmount: bigint;
  running: number;
  /** Finished lines a minute since it began, or null before. */
  ratePerMinute: number | null;
  /** Epoch milliseconds, or null when unknown or finished, and while it waits. */
  eta: number | null;
  /** Why no request of it is sent at present; null otherwise. */
  waiting: Waiting | null;
  /** How many batches of its org go before it while it is queued; else null. */
  ahead: number | null;
  /** It will miss its window. */
  atRisk: boolean;
  errorSummary: readonly { code: string; count: number; example: string }[];
}

export interface DryRun {
  endpoint: BatchEndpoint;
  total: number;
  /** Tokens in and, at most, out. */
  usage: Usage;
  /** Whether those in were all counted by the engines that would read them; else some are estimated. */
  exactInput: boolean;
  amount: bigint;
  listAmount: bigint;
}

export function presentBatch(view: BatchView, dates: DateForm) {
  const { batch } = view;
  const instant = instantFormats[dates];
  const instantOrNull = nullable(instant);
  const { total, ok, err } = batch;
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    model: batch.model,
    status: batch.status,
    input_file_id: batch.inputFileId,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    completion_window: windowOf(batch),
    retry_of: batch.retryOf,
    errors: faultList(batch.errors),
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
      batches_ahead: view.ahead,
    },
    waiting: presentWaiting(view.waiting, instant),
    at_risk: view.atRisk,
    usage: presentBatchUsage(view.usage),
    cost: presentCost(view),
    error_summary: view.errorSummary.map(({ code, count, example }) => ({ code, count, example })),
  };
}

/** The window of a batch moves with a clock that jumped: to the minute, where it has hours. */
function windowOf({ createdAt, expiresAt }: Batch): string {
  const ms = expiresAt - createdAt;
  return formatExactDuration(ms < 3_600_000 ? ms : Math.round(ms / 60_000) * 60_000);
}

/**
 * The batch resource as JSON text, with the metadata spliced in byte for byte as it came: its numbers keep every digit
 * and its keys their order.
 */
export function batchJson(view: BatchView, dates: DateForm): string {
  const body = JSON.stringify(presentBatch(view, dates));
  return `${body.slice(0, -1)},"metadata":${view.batch.metadata ?? '{}'}}`;
}

/**
 * What a dry run answers (api.md, section 5). The output tokens are the most that can be produced. Cached and reasoning
 * tokens are unknown before a batch runs, so they are absent.
 */
export function presentEstimate(estimate: DryRun) {
  return {
    object: 'batch.estimate',
    endpoint: estimate.endpoint,
    request_counts: { total: estimate.total, completed: 0, failed: 0 },
    usage: presentTokens(estimate.usage),
    exact_input: estimate.exactInput,
    cost: presentCost(estimate),
  };
}

/** Token sums in the shape of OpenAI's batch usage. */
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

/** Dollars as decimal strings: what is billed, and what the same usage costs synchronously. */
function presentCost({ amount, listAmount }: { amount: bigint; listAmount: bigint }) {
  return { currency: 'USD', amount: formatDollars(amount), list_amount: formatDollars(listAmount) };
}

function faultList(faults: readonly BatchFault[]) {
  if (faults.length === 0) return null;
  const data = faults.map(({ code, message, param, line }) => ({ code, message, param, line }));
  return { object: 'list', data };
}

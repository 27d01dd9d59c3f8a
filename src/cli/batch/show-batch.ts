import type { OperatorBatch, RemoteBatch, RemoteEstimate, RemoteQuote } from '../../client/resources.ts';
import { type ExitCode, exitCodes } from '../shared/exit-codes.ts';
import { showWarnings, waitingText, isoTime } from '../shared/format.ts';
import type { Terminal } from '../terminal/terminal.ts';

export const colors = {
  validating: 'cyan',
  in_progress: 'cyan',
  cancelling: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
  expired: 'red',
} as const;

export function showBatch(batch: RemoteBatch, terminal: Terminal): void {
  const { request_counts: counts, usage, waiting, metadata } = batch;
  const cached = usage?.input_tokens_details?.cached_tokens ?? 0;
  terminal.print(`${terminal.paint('bold', batch.id)}  ${paintStatus(batch, terminal)}`);
  terminal.record([
    ['endpoint', batch.endpoint],
    ['model', batch.model],
    ['priority', batch.priority?.toString()],
    ['window', batch.completion_window],
    ['requests', `${counts.completed} completed, ${counts.failed} failed, of ${counts.total}`],
    ['tokens', usage && `${usage.input_tokens} in (${cached} cached), ${usage.output_tokens} out`],
    ['cost', costText(batch)],
    ['created', isoTime(batch.created_at)],
    ['expires', isoTime(batch.expires_at)],
    ['expected', isoTimeOrNull(batch.progress?.eta)],
    ['at risk', batch.at_risk ? 'not expected to finish before it expires' : null],
    [
      'waiting',
      waiting && `since ${isoTime(waiting.since)}: ${waitingText(waiting, batch.progress?.batches_ahead)}`,
    ],
    ['completed', isoTimeOrNull(batch.completed_at)],
    ['failed', isoTimeOrNull(batch.failed_at)],
    ['expired', isoTimeOrNull(batch.expired_at)],
    ['cancelled', isoTimeOrNull(batch.cancelled_at)],
    ['retry of', batch.retry_of],
    ['input', batch.input_file_id],
    ['output', batch.output_file_id],
    ['errors', batch.error_file_id],
    ['metadata', Object.keys(metadata ?? {}).length > 0 ? JSON.stringify(metadata) : null],
  ]);
  for (const fault of batch.errors?.data ?? [])
    terminal.record([['fault', `${fault.code}: ${fault.message}`]]);
  for (const summary of batch.error_summary ?? []) {
    const example = typeof summary.example === 'string' ? `, for example: ${summary.example}` : '';
    terminal.record([['failures', `${summary.count} x ${summary.code}${example}`]]);
  }
  showWarnings(batch.warnings, terminal);
}

/** @param batch with its org, where an operator reads it */
export function showOperatorBatch(batch: RemoteBatch | OperatorBatch, terminal: Terminal): void {
  showBatch(batch, terminal);
  if ('org_id' in batch) terminal.record([['org', batch.org ?? batch.org_id]]);
}

export function showEstimate(estimate: RemoteEstimate, terminal: Terminal): void {
  const { request_counts: counts, usage, exact_input: isExact, quota, forecast } = estimate;
  terminal.record([
    ['requests', String(counts.total)],
    ['tokens', `${usage.input_tokens} in${isExact ? '' : ' (estimated)'}, up to ${usage.output_tokens} out`],
    ['cost', costText(estimate)],
    ['expected', forecast && forecastText(forecast)],
    ['waiting', forecast?.waiting && waitingText(forecast.waiting)],
    ['fits', quota.fits ? 'yes' : `no: ${reasonText(quota)}`],
    ...windowRows(estimate),
  ]);
  showWarnings(estimate.warnings, terminal);
}

/** The first error with which the server would refuse the batch. */
function reasonText({ reasons }: RemoteEstimate['quota']): string {
  return reasons[0]?.message ?? 'it exceeds a limit of the org or the key';
}

/** Price and forecast for each of several windows. */
function windowRows({ windows = [] }: RemoteEstimate): [string, string][] {
  if (windows.length < 2) return [];
  return windows.map((quote) => [
    `in ${quote.completion_window}`,
    `${quote.cost.amount} ${quote.cost.currency}, ${quoteText(quote)}`,
  ]);
}

function quoteText({ can_be_met: canBeMet, eta }: RemoteQuote): string {
  if (canBeMet === null) return 'unknown whether it can be met';
  if (canBeMet) return `expected at ${eta === null ? 'an unknown time' : isoTime(eta)}`;
  return `cannot be met${eta === null ? '' : `: not done before ${isoTime(eta)}`}`;
}

function forecastText({ eta, at_risk: isLate }: NonNullable<RemoteEstimate['forecast']>): string {
  if (eta === null) return 'unknown: no rate of the model was measured, or it takes no requests';
  return `${isoTime(eta)}${isLate ? ', after it expires' : ''}`;
}

function isoTimeOrNull(instant: string | number | null | undefined): string | null {
  return instant === null || instant === undefined ? null : isoTime(instant);
}

export function paintStatus(batch: RemoteBatch, terminal: Terminal): string {
  return terminal.paint(colors[batch.status] ?? 'reset', batch.status);
}

/** Cost as `0.00042 USD (0.00084 without a batch)`; null if the server does not report it. */
export function costText({
  cost,
}: {
  cost?: Record<'amount' | 'currency' | 'list_amount', string> | null;
}): string | null {
  return cost ? `${cost.amount} ${cost.currency} (${cost.list_amount} without a batch)` : null;
}

/** Exit code for a finished batch. */
export function exitCodeOf(batch: RemoteBatch): ExitCode {
  if (batch.status === 'failed') return exitCodes.batchFailed;
  if (batch.status === 'expired' || batch.status === 'cancelled') return exitCodes.batchStopped;
  return batch.request_counts.failed > 0 ? exitCodes.linesFailed : exitCodes.ok;
}

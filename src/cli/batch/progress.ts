import { formatDuration } from '../../base/duration.ts';
import { sum } from '../../base/sum.ts';
import type { Clock } from '../../base/clock.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import { waitingLabel, isoTime } from '../shared/format.ts';
import { createMeter, type ProgressMeter } from '../terminal/meter.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { colors } from './show-batch.ts';

export type Progress = ProgressMeter<RemoteBatch>;

export const noProgress: Progress = { update() {}, note() {}, stop() {} };

/** Progress of a batch: a bar on a terminal, a line for every tenth in a pipe. */
export function createProgress(terminal: Terminal, clock: Clock): Progress {
  const meter = createMeter(terminal);
  return {
    ...meter,
    update(batch) {
      const { status, waiting } = batch;
      const { total } = batch.request_counts;
      const done = doneOf(batch);
      const tenth = total === 0 ? 0 : Math.floor((done * 10) / total);
      meter.update({
        head: status,
        done,
        total,
        details: [`${done}/${total}`, ...detailsOf(batch, clock)],
        // One line for the last request and the end of the batch.
        step: done === total ? 'done' : `${status} ${tenth} ${waiting?.reason ?? ''}`,
        color: colors[status],
      });
    },
  };
}

/** Number of requests that ran. In a batch that ended early, the others are counted as failed. */
function doneOf({ request_counts: { completed, failed }, error_summary }: RemoteBatch): number {
  const neverRan = error_summary?.filter(({ code }) => /^batch_(cancelled|expired|failed)$/.test(code)) ?? [];
  return completed + failed - sum(neverRan.map(({ count }) => count));
}

/** Details such as `4m 10s left`, `3 failed` and `waiting: queued, 2 ahead`, the most important first. */
function detailsOf(batch: RemoteBatch, clock: Clock): string[] {
  const { progress, cost, waiting, request_counts: counts } = batch;
  const eta = progress?.eta ? Date.parse(isoTime(progress.eta)) - clock.now() : Number.NaN;
  return [
    eta > 0 ? `${formatDuration(eta)} left` : '',
    waiting ? `waiting: ${waitingLabel(waiting, progress?.batches_ahead)}` : '',
    counts.failed > 0 ? `${counts.failed} failed` : '',
    progress?.rate_per_minute ? `${Math.round(progress.rate_per_minute)}/min` : '',
    cost ? `${cost.amount} ${cost.currency}` : '',
    batch.at_risk === true ? 'at risk: not expected to finish before it expires' : '',
    waiting?.message ?? '',
  ];
}

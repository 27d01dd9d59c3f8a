import { formatDuration } from '../../base/duration.ts';
import type { Clock } from '../../base/clock.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import { isoTime } from '../terminal/iso-time.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import { createBar } from '../terminal/bar.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { waitingText } from '../shared/waiting.ts';

/** Shows how far a batch is: a bar on a terminal, a line for every tenth of the work in a pipe. */
export interface Progress {
  update(batch: RemoteBatch): void;
  /** A remark that does not tear the bar. */
  note(text: string): void;
  stop(): void;
}

export const noProgress: Progress = { update() {}, note() {}, stop() {} };

export function createProgress(terminal: Terminal, clock: Clock): Progress {
  return terminal.stderr.isTTY === true ? showBar(terminal, clock) : createLines(terminal, clock);
}

function showBar(terminal: Terminal, clock: Clock): Progress {
  const bar = createBar(terminal, '{status}', '{value}/{total} | {detail}');
  let started = false;
  return {
    update(batch) {
      const payload = { status: batch.status, detail: detailOf(batch, clock) };
      const done = doneOf(batch);
      if (!started) bar.start(batch.request_counts.total, done, payload);
      else bar.update(done, payload);
      started = true;
    },
    note(text) {
      if (started) bar.stop();
      started = false;
      terminal.note(text);
    },
    stop() {
      if (started) bar.stop();
      started = false;
    },
  };
}

function createLines(terminal: Terminal, clock: Clock): Progress {
  let told = '';
  return {
    update(batch) {
      const { total } = batch.request_counts;
      const done = doneOf(batch);
      const tenth = total === 0 ? 0 : Math.floor((done * 10) / total);
      const step = `${batch.status} ${tenth} ${batch.waiting?.reason ?? ''}`;
      if (step === told) return;
      told = step;
      terminal.note(`${batch.status} ${done}/${total} | ${detailOf(batch, clock)}`);
    },
    note: (text) => terminal.note(text),
    stop() {},
  };
}

/** Requests that have an end of their own. In a batch that was ended early, those that never ran count as failed, too. */
function doneOf({ request_counts: { completed, failed }, error_summary }: RemoteBatch): number {
  const neverRan = (error_summary ?? []).filter(({ code }) =>
    /^batch_(cancelled|expired|failed)$/.test(code),
  );
  return completed + failed - neverRan.reduce((sum, { count }) => sum + count, 0);
}

/** `120/min | 4m 10s left | 3 failed | 0.0012 USD`, and why it waits. */
function detailOf(batch: RemoteBatch, clock: Clock): string {
  const { progress, cost, request_counts: counts } = batch;
  const eta = progress?.eta ? Date.parse(isoTime(progress.eta)) - clock.now() : Number.NaN;
  const parts = [
    progress?.rate_per_minute ? `${Math.round(progress.rate_per_minute)}/min` : '',
    eta > 0 ? `${formatDuration(eta)} left` : '',
    counts.failed > 0 ? `${counts.failed} failed` : '',
    cost ? `${cost.amount} ${cost.currency}` : '',
    batch.waiting ? `waiting: ${waitingText(batch.waiting, progress?.batches_ahead)}` : '',
    batch.at_risk === true ? 'at risk: it will not be done before it expires' : '',
  ];
  return cleanLine(parts.filter((part) => part !== '').join(' | '));
}

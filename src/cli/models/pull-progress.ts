import { basename } from 'node:path';
import { showBytes } from '../../base/bytes.ts';
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { PullProgress } from '../../core/model-file.ts';
import { cleanLine, shorten } from '../terminal/clean-text.ts';
import { createBar } from '../terminal/bar.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { createPace } from './pace.ts';
import type { Pace } from './pace.ts';

/** Shows how far a download is: a bar on a terminal, a line for every tenth in a pipe. */
export interface ShownPull {
  update(progress: PullProgress): void;
  /** A remark that does not tear the bar. */
  note(text: string): void;
  stop(): void;
}

const widestName = 32;
/** Where nobody knows how much will come, a line for so much of it. */
const toldBytes = 64 * 1024 ** 2;

export function createPullProgress(terminal: Terminal, clock: Clock): ShownPull {
  const lines = createLines(terminal, createPace(clock));
  if (terminal.stderr.isTTY !== true) return lines;
  const bar = showBar(terminal, createPace(clock));
  return {
    // A bar needs an end.
    update: (progress) => (progress.total === null ? lines : bar).update(progress),
    note: (text) => bar.note(text),
    stop: () => bar.stop(),
  };
}

function showBar(terminal: Terminal, pace: Pace): ShownPull {
  const bar = createBar(terminal, '{name}', '{detail}');
  let started = false;
  const stop = () => {
    if (started) bar.stop();
    started = false;
  };
  return {
    update(progress) {
      const payload = { name: nameOf(progress), detail: detailOf(progress, pace) };
      if (started) bar.update(progress.done, payload);
      else bar.start(progress.total ?? 0, progress.done, payload);
      started = true;
    },
    note(text) {
      stop();
      terminal.note(cleanLine(text));
    },
    stop,
  };
}

function createLines(terminal: Terminal, pace: Pace): ShownPull {
  let told = '';
  return {
    update(progress) {
      const { phase, part, done, total } = progress;
      pace.at(done);
      const step = `${phase} ${part} ${total === null ? Math.floor(done / toldBytes) : Math.floor((done * 10) / total)}`;
      if (step === told) return;
      told = step;
      terminal.note(`${nameOf(progress)} | ${detailOf(progress, pace)}`);
    },
    note: (text) => terminal.note(cleanLine(text)),
    stop() {},
  };
}

function nameOf({ file, part, parts }: PullProgress): string {
  const name = shorten(cleanLine(basename(file)), widestName);
  return parts === 1 ? name : `${part}/${parts} ${name}`;
}

/** `1.20 GB of 4.10 GB | 23.4 MB/s | 2m 05s left`. */
function detailOf({ phase, done, total }: PullProgress, pace: Pace): string {
  if (phase === 'waiting') return 'waiting for another process';
  if (phase === 'checking') return `checking ${showBytes(done)}`;
  const perSecond = pace.at(done);
  const parts = [total === null ? showBytes(done) : `${showBytes(done)} of ${showBytes(total)}`];
  if (perSecond > 0) parts.push(`${showBytes(Math.round(perSecond))}/s`);
  if (perSecond > 0 && total !== null && done < total)
    parts.push(`${formatDuration(((total - done) / perSecond) * 1000)} left`);
  return parts.join(' | ');
}

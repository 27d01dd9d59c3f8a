import { basename } from 'node:path';
import { showBytes } from '../../base/bytes.ts';
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { PullProgress } from '../../core/model-file.ts';
import { cleanLine, shorten } from '../terminal/clean-text.ts';
import { createMeter } from '../terminal/meter.ts';
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
  const meter = createMeter(terminal);
  const pace = createPace(clock);
  return {
    update(progress) {
      const { phase, part, done, total } = progress;
      const told = total === null ? Math.floor(done / toldBytes) : Math.floor((done * 10) / total);
      const parts = detailsOf(progress, pace);
      meter.update({ head: nameOf(progress), done, total, parts, step: `${phase} ${part} ${told}` });
    },
    note: (text) => meter.note(cleanLine(text)),
    stop: () => meter.stop(),
  };
}

function nameOf({ file, part, parts }: PullProgress): string {
  const name = shorten(cleanLine(basename(file)), widestName);
  return parts === 1 ? name : `${part}/${parts} ${name}`;
}

/** `1.20 GB of 4.10 GB`, `2m 05s left`, `23.4 MB/s`. */
function detailsOf({ phase, done, total }: PullProgress, pace: Pace): string[] {
  const perSecond = pace.at(done);
  if (phase === 'waiting') return ['waiting for another process'];
  if (phase === 'checking') return [`checking ${showBytes(done)}`];
  const left = total === null ? 0 : total - done;
  return [
    total === null ? showBytes(done) : `${showBytes(done)} of ${showBytes(total)}`,
    perSecond > 0 && left > 0 ? `${formatDuration((left / perSecond) * 1000)} left` : '',
    perSecond > 0 ? `${showBytes(Math.round(perSecond))}/s` : '',
  ];
}

import { basename } from 'node:path';
import { formatBytes } from '../../base/bytes.ts';
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { PullProgress } from '../../core/model-file.ts';
import { cleanLine, shorten } from '../terminal/clean-text.ts';
import { createMeter, type ProgressMeter } from '../terminal/meter.ts';
import type { Terminal } from '../terminal/terminal.ts';

const widestName = 32;
/** Bytes between two lines in a pipe when the total is unknown. */
const bytesPerLine = 64 * 1024 ** 2;

/** Progress of a download: a bar on a terminal, a line for every tenth in a pipe. */
export function createPullProgress(terminal: Terminal, clock: Clock): ProgressMeter<PullProgress> {
  const meter = createMeter(terminal);
  const rate = createRateMeter(clock);
  return {
    update(progress) {
      const { phase, part, done, total } = progress;
      const tick = total === null ? Math.floor(done / bytesPerLine) : Math.floor((done * 10) / total);
      const details = detailsOf(progress, rate.at(done));
      meter.update({ head: nameOf(progress), done, total, details, step: `${phase} ${part} ${tick}` });
    },
    note: (text) => meter.note(cleanLine(text)),
    stop: () => meter.stop(),
  };
}

function nameOf({ file, part, parts }: PullProgress): string {
  const name = shorten(cleanLine(basename(file)), widestName);
  return parts === 1 ? name : `${part}/${parts} ${name}`;
}

/** Details such as `1.20 GB of 4.10 GB`, `2m 05s left` and `23.4 MB/s`. */
function detailsOf({ phase, done, total }: PullProgress, perSecond: number): string[] {
  if (phase === 'waiting') return ['waiting for another process'];
  if (phase === 'checking') return [`checking ${formatBytes(done)}`];
  const left = total === null ? 0 : total - done;
  return [
    total === null ? formatBytes(done) : `${formatBytes(done)} of ${formatBytes(total)}`,
    perSecond > 0 && left > 0 ? `${formatDuration((left / perSecond) * 1000)} left` : '',
    perSecond > 0 ? `${formatBytes(Math.round(perSecond))}/s` : '',
  ];
}

const windowMs = 5000;
const sampleMs = 250;

/** Download rate over the last seconds. */
export function createRateMeter(clock: Clock) {
  const samples: { at: number; done: number }[] = [];
  return {
    /** Bytes per second, given the total so far; 0 until it can be measured. */
    at(done: number): number {
      const now = clock.monotonic();
      const last = samples.at(-1);
      if (last === undefined || now - last.at >= sampleMs) samples.push({ at: now, done });
      while (samples.length > 2 && now - samples[0]!.at > windowMs) samples.shift();
      const first = samples[0]!;
      const elapsed = now - first.at;
      return elapsed < sampleMs ? 0 : Math.max(0, ((done - first.done) / elapsed) * 1000);
    },
  };
}

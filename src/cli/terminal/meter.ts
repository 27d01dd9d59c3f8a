import type { styleText } from 'node:util';
import type CliProgress from 'cli-progress';
import { loadPackage } from '../../base/load-package.ts';
import { cleanLine, shorten } from './clean-text.ts';
import type { Terminal } from './terminal.ts';

/** How far something is. */
export interface Measured {
  head: string;
  done: number;
  /** Null where nobody knows it: that is told in lines, as a bar needs an end. */
  total: number | null;
  /** What stands behind the bar, the most important first; empty ones are left out. */
  parts: readonly string[];
  /** In a pipe a line is written whenever this is another. */
  step: string;
  colour?: Parameters<typeof styleText>[0];
}

/** Shows how far something is: a bar on a terminal, lines in a pipe. */
export interface Meter<T = Measured> {
  update(progress: T): void;
  /** A remark that does not tear the bar. */
  note(text: string): void;
  stop(): void;
}

/** How wide the bar itself may be. */
const bar = { narrowest: 8, widest: 28 };
const gap = ' | ';

export function createMeter(terminal: Terminal): Meter {
  let drawn: CliProgress.SingleBar | undefined;
  let told = '';
  const stop = () => {
    drawn?.stop();
    drawn = undefined;
  };
  const draw = (measured: Measured, total: number) => {
    if (drawn === undefined) (drawn = openBar(terminal)).start(total, measured.done, measured);
    else drawn.update(measured.done, measured);
  };
  return {
    update(measured) {
      const { head, parts, step, total } = measured;
      if (terminal.stderr.isTTY === true && total !== null) return draw(measured, total);
      if (step !== told) terminal.note(cleanLine(`${head} ${parts.filter(Boolean).join(gap)}`));
      told = step;
    },
    note(text) {
      stop();
      terminal.note(text);
    },
    stop,
  };
}

function openBar(terminal: Terminal): CliProgress.SingleBar {
  // Most commands show none: they start without it.
  const { SingleBar } = loadPackage('cli-progress') as typeof CliProgress;
  const format = (_: unknown, { maxWidth }: { maxWidth: number }, measured: Measured) => {
    const { before, filled, empty, after } = layOut(measured, maxWidth);
    return `${before}${terminal.paintNote(measured.colour ?? 'cyan', filled)}${empty}${after}`;
  };
  // The width is asked for each time: it may have changed.
  return new SingleBar({ stream: terminal.stderr, format: format as never, hideCursor: true, fps: 8 });
}

/** One line of less than `width` columns: as many of the parts as there is room for, and the bar in what is left. */
export function layOut({ head, done, total, parts }: Measured, width: number) {
  const share = total ? Math.min(1, done / total) : 0;
  const room = width - 1;
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const before = `${shorten(cleanLine(head), Math.max(1, room - percent.length - bar.narrowest - 2))} `;
  let after = ` ${percent}`;
  for (const part of parts.filter(Boolean).map(cleanLine)) {
    const left = room - before.length - after.length - bar.narrowest - gap.length;
    if (part.length > left && left < 12) break;
    after += gap + shorten(part, left);
    if (part.length > left) break;
  }
  const size = Math.max(0, Math.min(bar.widest, room - before.length - after.length));
  const full = Math.floor(share * size);
  return { before, filled: '█'.repeat(full), empty: '░'.repeat(size - full), after };
}

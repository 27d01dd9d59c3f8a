import type { styleText } from 'node:util';
import type CliProgress from 'cli-progress';
import { loadPackage } from '../../base/load-package.ts';
import { cleanLine, shorten } from './clean-text.ts';
import type { Terminal } from './terminal.ts';

/** How far something is. */
export interface ProgressState {
  head: string;
  done: number;
  /** Null where nobody knows it: that is told in lines, as a bar needs an end. */
  total: number | null;
  /** What stands behind the bar, the most important first; empty ones are left out. */
  details: readonly string[];
  /** In a pipe a line is written whenever this is another. */
  step: string;
  colour?: Parameters<typeof styleText>[0];
}

/** Shows how far something is: a bar on a terminal, lines in a pipe. */
export interface ProgressMeter<T = ProgressState> {
  update(progress: T): void;
  /** A remark that does not tear the bar. */
  note(text: string): void;
  stop(): void;
}

/** How wide the bar itself may be. */
const bar = { narrowest: 8, widest: 28 };
const gap = ' | ';

export function createMeter(terminal: Terminal): ProgressMeter {
  let drawn: CliProgress.SingleBar | undefined;
  let told = '';
  const stop = () => {
    drawn?.stop();
    drawn = undefined;
  };
  const draw = (state: ProgressState, total: number) => {
    if (drawn === undefined) (drawn = openBar(terminal)).start(total, state.done, state);
    else drawn.update(state.done, state);
  };
  return {
    update(state) {
      const { head, details, step, total } = state;
      if (terminal.stderr.isTTY === true && total !== null) return draw(state, total);
      if (step !== told) terminal.note(cleanLine(`${head} ${details.filter(Boolean).join(gap)}`));
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
  const format = (_: unknown, { maxWidth }: { maxWidth: number }, state: ProgressState) => {
    const { before, filled, empty, after } = layOut(state, maxWidth);
    return `${before}${terminal.paintNote(state.colour ?? 'cyan', filled)}${empty}${after}`;
  };
  // The width is asked for each time: it may have changed.
  return new SingleBar({ stream: terminal.stderr, format: format as never, hideCursor: true, fps: 8 });
}

/** One line of less than `width` columns: as many of the parts as there is room for, and the bar in what is left. */
export function layOut({ head, done, total, details }: ProgressState, width: number) {
  const share = total ? Math.min(1, done / total) : 0;
  const room = width - 1;
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const before = `${shorten(cleanLine(head), Math.max(1, room - percent.length - bar.narrowest - 2))} `;
  let after = ` ${percent}`;
  for (const part of details.filter(Boolean).map(cleanLine)) {
    const left = room - before.length - after.length - bar.narrowest - gap.length;
    if (part.length > left && left < 12) break;
    after += gap + shorten(part, left);
    if (part.length > left) break;
  }
  const size = Math.max(0, Math.min(bar.widest, room - before.length - after.length));
  const full = Math.floor(share * size);
  return { before, filled: '█'.repeat(full), empty: '░'.repeat(size - full), after };
}

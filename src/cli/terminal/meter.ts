import type { styleText } from 'node:util';
import type CliProgress from 'cli-progress';
import { loadPackage } from '../../base/load-package.ts';
import { cleanLine, shorten } from './clean-text.ts';
import type { Terminal } from './terminal.ts';

export interface ProgressState {
  head: string;
  done: number;
  /** Null if unknown: then lines are printed, because a bar needs an end. */
  total: number | null;
  /** Texts after the bar, the most important first; empty ones are omitted. */
  details: readonly string[];
  /** In a pipe, a line is printed whenever this value changes. */
  step: string;
  color?: Parameters<typeof styleText>[0];
}

/** Progress display: a bar on a terminal, lines in a pipe. */
export interface ProgressMeter<T = ProgressState> {
  update(progress: T): void;
  /** Prints a message without breaking the bar. */
  note(text: string): void;
  stop(): void;
}

const barWidth = { min: 8, max: 28 };
const gap = ' | ';

export function createMeter(terminal: Terminal): ProgressMeter {
  let drawn: CliProgress.SingleBar | undefined;
  let lastStep = '';
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
      if (step !== lastStep) terminal.note(cleanLine(`${head} ${details.filter(Boolean).join(gap)}`));
      lastStep = step;
    },
    note(text) {
      stop();
      terminal.note(text);
    },
    stop,
  };
}

function openBar(terminal: Terminal): CliProgress.SingleBar {
  // Loaded here, because most commands show no bar.
  const { SingleBar } = loadPackage('cli-progress') as typeof CliProgress;
  const format = (_: unknown, { maxWidth }: { maxWidth: number }, state: ProgressState) => {
    const { before, filled, empty, after } = layOut(state, maxWidth);
    return `${before}${terminal.paintNote(state.color ?? 'cyan', filled)}${empty}${after}`;
  };
  return new SingleBar({ stream: terminal.stderr, format: format as never, hideCursor: true, fps: 8 });
}

/** Layout of a line of less than `width` characters: as many details as fit, and the bar in the remaining space. */
export function layOut({ head, done, total, details }: ProgressState, width: number) {
  const share = total ? Math.min(1, done / total) : 0;
  const room = width - 1;
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const before = `${shorten(cleanLine(head), Math.max(1, room - percent.length - barWidth.min - 2))} `;
  let after = ` ${percent}`;
  for (const part of details.filter(Boolean).map(cleanLine)) {
    const left = room - before.length - after.length - barWidth.min - gap.length;
    if (part.length > left && left < 12) break;
    after += gap + shorten(part, left);
    if (part.length > left) break;
  }
  const size = Math.max(0, Math.min(barWidth.max, room - before.length - after.length));
  const full = Math.floor(share * size);
  return { before, filled: '█'.repeat(full), empty: '░'.repeat(size - full), after };
}

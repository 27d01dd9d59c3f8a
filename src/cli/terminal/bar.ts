import { createRequire } from 'node:module';
import type CliProgress from 'cli-progress';
import type { Terminal } from './terminal.ts';

/** The progress bar of a terminal: `head`, the bar, how much of it, and `tail`, with `{fields}` of what it is updated with. */
export function createBar(terminal: Terminal, head: string, tail: string): CliProgress.SingleBar {
  // Most commands show none: they start without it.
  const { SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
  return new SingleBar({
    stream: terminal.stderr,
    format: `${head} ${terminal.paintNote('cyan', '{bar}')} {percentage}% | ${tail}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 28,
    hideCursor: true,
    fps: 8,
  });
}

import { sleep } from '../../base/clock.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cli } from './cli.ts';
import { printResult } from './commands.ts';

const watchMs = 2_000;
/** Moves the cursor home and clears the screen. */
const clearScreen = '\u001b[H\u001b[J';

export interface WatchOptions {
  watch?: boolean;
  json?: boolean;
}

/**
 * Prints an answer once or, with `--watch`, again after each change until Ctrl-C.
 * @param shownOf what the output shows of an answer; other changes are no reason to print
 */
export async function printWatched<T>(
  cli: Cli,
  options: WatchOptions,
  ask: () => Promise<T>,
  show: (answer: T, terminal: Terminal) => void,
  shownOf: (answer: T) => unknown = (answer) => answer,
): Promise<void> {
  const { terminal, clock } = cli;
  const stop = new AbortController();
  const release = options.watch === true ? cli.onInterrupt(() => stop.abort()) : () => {};
  try {
    for (let shown = ''; ; await sleep(clock, watchMs, stop.signal)) {
      if (stop.signal.aborted) return;
      const answer = await ask();
      const now = JSON.stringify([terminal.stdout.columns, shownOf(answer)]);
      if (now !== shown) {
        if (options.watch === true && terminal.stdout.isTTY === true) terminal.stdout.write(clearScreen);
        printResult(cli, options, answer, show);
      }
      shown = now;
      if (options.watch !== true) return;
    }
  } finally {
    release();
  }
}

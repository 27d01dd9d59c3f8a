import { sleep } from '../../base/clock.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cli } from './cli.ts';
import { printResult } from './commands.ts';
import { createOutageTimer } from './outage.ts';

const watchMs = 2_000;
/** Moves the cursor home and clears the screen. */
const clearScreen = '\u001b[H\u001b[J';

export interface WatchOptions {
  watch?: boolean;
  json?: boolean;
}

/**
 * Prints an answer once or, with `--watch`, again after each change until Ctrl-C. Once the server has answered, the watch waits for it
 * however long it is away; a wrong address ends the command at once.
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
  const outage = createOutageTimer({ clock, note: (text) => terminal.note(text) }, Infinity);
  const isTerminal = terminal.stdout.isTTY === true;
  try {
    for (let shown = ''; ; await sleep(clock, watchMs, stop.signal)) {
      if (stop.signal.aborted) return;
      const answer = await (shown === '' ? ask() : ask().catch((error: unknown) => outage.failed(error)));
      if (answer === undefined) continue;
      const now = JSON.stringify([terminal.stdout.columns, shownOf(answer)]);
      // On a terminal the note about an outage goes away with it.
      if ((outage.answered() && isTerminal) || now !== shown) {
        if (options.watch === true && isTerminal) terminal.stdout.write(clearScreen);
        printResult(cli, options, answer, show);
      }
      shown = now;
      if (options.watch !== true) return;
    }
  } finally {
    release();
  }
}

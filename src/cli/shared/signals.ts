import type { Cli } from './cli.ts';
import type { CliError } from './exit-codes.ts';

/**
 * Resolves at the first SIGTERM or SIGINT. A second one ends the process at once: whoever sends it has waited enough,
 * and everything that was accepted is on disk.
 */
export function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let seen = false;
    const handle = (signal: NodeJS.Signals) => {
      if (seen) process.exit(signal === 'SIGINT' ? 130 : 143);
      seen = true;
      resolve(signal);
    };
    process.on('SIGTERM', handle);
    process.on('SIGINT', handle);
  });
}

/**
 * Does `work`, whose signal aborts at Ctrl-C.
 * @throws `stopped` then, where that ends the command
 */
export async function interruptible<T>(
  cli: Pick<Cli, 'onInterrupt'>,
  stopped: CliError | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const release = cli.onInterrupt(() => stop.abort(stopped));
  try {
    const done = await work(stop.signal);
    // Whatever listens no longer has not seen it.
    if (stopped !== undefined) stop.signal.throwIfAborted();
    return done;
  } catch (error) {
    throw stop.signal.aborted ? (stopped ?? error) : error;
  } finally {
    release();
  }
}

/** Calls `handle` at each SIGHUP. On a terminal it says that the terminal has gone, and ends the process as ever. */
export function onHangup(handle: () => void): void {
  if (!process.stdin.isTTY) process.on('SIGHUP', handle);
}

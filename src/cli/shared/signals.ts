import type { Cli } from './cli.ts';
import type { CliError } from './exit-codes.ts';

/** Resolves at the first SIGTERM or SIGINT. A second one exits at once, which is safe: all accepted work is on disk. */
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
 * Runs `work` with a signal that aborts at Ctrl-C.
 * @throws `stopped` after Ctrl-C, if given
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
    // Work that no longer listens to the signal has missed it.
    if (stopped !== undefined) stop.signal.throwIfAborted();
    return done;
  } catch (error) {
    throw stop.signal.aborted ? (stopped ?? error) : error;
  } finally {
    release();
  }
}

/** Calls `handle` at each SIGHUP. On a terminal, SIGHUP keeps its meaning of a hang-up and ends the process. */
export function onHangup(handle: () => void): void {
  if (!process.stdin.isTTY) process.on('SIGHUP', handle);
}

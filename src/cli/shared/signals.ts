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

/** Calls `handle` at each SIGHUP. On a terminal it says that the terminal has gone, and ends the process as ever. */
export function onHangup(handle: () => void): void {
  if (!process.stdin.isTTY) process.on('SIGHUP', handle);
}

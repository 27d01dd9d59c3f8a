const outputs = [process.stdout, process.stderr];

/** A reader that goes away (`| head`) ends the command, quietly; a full disk ends it as a failure. */
export function endWhenUnread(): void {
  for (const stream of outputs) stream.on('error', end);
}

/** From here on it loses what it says: a server has others to serve, and is not to stop before they are answered. */
export function goOnUnread(): void {
  for (const stream of outputs) stream.off('error', end).on('error', () => {});
}

function end(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
}

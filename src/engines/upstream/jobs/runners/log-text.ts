/** Characters of a log that are shown. */
const maxLog = 2_000;

/** End of a log, for the operator. */
export function endOf(log: string): string {
  return log.trimEnd().slice(-maxLog);
}

export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)!.trim();
}

/** What a command's exit code says (docs/cli.md). */
export const exitCodes = {
  ok: 0,
  /** Wrong usage, or the server said no. */
  usage: 1,
  linesFailed: 2,
  batchFailed: 3,
  /** It expired or was cancelled. */
  batchStopped: 4,
  unreachable: 5,
  /** Ctrl-C, as shells count it. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** An error of the command line itself: a sentence, what to do about it, and how to exit. */
export class CliError extends Error {
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;

  constructor(message: string, hint?: string, exitCode: ExitCode = exitCodes.usage) {
    super(message);
    this.name = 'CliError';
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

/** Exit codes (docs/cli.md). */
export const exitCodes = {
  ok: 0,
  /** Wrong usage, or an error answer of the server. */
  usage: 1,
  linesFailed: 2,
  batchFailed: 3,
  /** The batch expired or was cancelled. */
  batchStopped: 4,
  unreachable: 5,
  /** Ctrl-C, by the convention of shells. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Error of the command line: a sentence, details, a hint and an exit code. */
export class CliError extends Error {
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
  /** Details, each printed on a line of its own. */
  readonly lines: readonly string[];

  constructor(
    message: string,
    hint?: string,
    exitCode: ExitCode = exitCodes.usage,
    lines: readonly string[] = [],
  ) {
    super(message);
    this.name = 'CliError';
    this.hint = hint;
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

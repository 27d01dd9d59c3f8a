import type { ErrorCode } from './errors.ts';

/** States of a line of a batch. `in_flight`: a process holds it, and has sent it or is about to. */
export const lineStates = ['queued', 'in_flight', 'completed', 'failed'] as const;
export type LineState = (typeof lineStates)[number];

/** Attempt of a line that failed or was refused. */
export interface FailedAttempt {
  /** Epoch milliseconds of the failure. */
  at: number;
  /** Milliseconds that the attempt took, without waiting for a slot. */
  ms: number;
  code: ErrorCode;
  /** Replica that was asked last; null if none was. */
  server: string | null;
}

/** Record of how a line got its result, kept apart from the result. */
export interface LineRun {
  /** Epoch milliseconds of the result. */
  at: number;
  /** Milliseconds that the last attempt took, without waiting for a slot. */
  ms: number;
  /** Replica that was asked last; null if none was. */
  server: string | null;
  /** Cost in nano-dollars, rounded half up. */
  nano: number;
  /** Last failed attempts, oldest first; absent if there were none. */
  failures?: readonly FailedAttempt[];
}

/** Failed attempts that a line remembers: refusals by a busy server are unlimited. */
const maxFailures = 8;

export function addFailure(
  before: readonly FailedAttempt[],
  failure: FailedAttempt,
): readonly FailedAttempt[] {
  return [...before.slice(1 - maxFailures), failure];
}

/** Result of a line without its body. */
export interface LineOutcome {
  /** 0-based number among the requests of the batch. */
  line: number;
  /** Error code; null for an answer. */
  code: string | null;
  /** Name of the model in the prices of the batch. */
  model: string;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Attempts that may have had an effect. */
  attempts: number;
  /** Null for lines that never ran, and for those recorded by earlier versions. */
  run: LineRun | null;
}

const endedBefore: ReadonlySet<string> = new Set(['batch_cancelled', 'batch_expired']);

/** Number of lines that count as failed because their batch ended before they ran. @param errors of the batch, by code */
export function linesNotRun(errors: readonly { code: string; count: number }[]): number {
  return errors.filter(({ code }) => endedBefore.has(code)).reduce((lines, { count }) => lines + count, 0);
}

import type { JobOrder } from './runner.ts';

/** Environment variables by which a job and the commands of its runner know it (docs/engines/jobs.md). */
export function jobVariables({ id, model, lines, input, output }: JobOrder): Record<string, string> {
  return {
    OFFPEAK_JOB: id,
    OFFPEAK_MODEL: model,
    OFFPEAK_LINES: String(lines),
    OFFPEAK_INPUT: input,
    OFFPEAK_OUTPUT: output,
  };
}

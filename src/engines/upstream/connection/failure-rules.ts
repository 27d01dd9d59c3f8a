import type { FailureStatus } from '../../../core/flavor.ts';

/** A failure that a server tells in a way of its own. All that is said of it must be so. */
export interface FailureRule {
  status?: number;
  /** The `code` or the `type` of its error. */
  code?: string;
  /** Its sentence. From the start, or a request that is quoted in another could say the same. */
  says?: Pick<RegExp, 'test'>;
  /** The status that says the same elsewhere, and by which everything else goes. */
  means: FailureStatus;
}

interface Told {
  status: number;
  code: string;
  type: string;
  message: string;
}

/** Said by services, and passed on by what stands before them, with the names of its own errors before the sentence. */
const everywhere: readonly FailureRule[] = [
  { says: passedOn('Your credit balance is too low'), means: 402 }, // Anthropic
  // OpenAI, of a single request that has more tokens than the account has in a minute: however long it waits.
  { status: 429, says: passedOn('Request too large for '), means: 413 },
];

function passedOn(sentence: string): RegExp {
  return new RegExp(String.raw`^(?:[\w.]+(?:Error|Exception)\s*[:-]\s*)*${sentence}`);
}

/** The status by which a failure is judged. */
export function effectiveStatus(
  { status, code, type, message }: Told,
  rows: readonly FailureRule[] = [],
): number {
  const row = [...rows, ...everywhere].find(
    (each) =>
      (each.status === undefined || each.status === status) &&
      (each.code === undefined || each.code === code || each.code === type) &&
      (each.says === undefined || each.says.test(message)),
  );
  return row?.means ?? status;
}

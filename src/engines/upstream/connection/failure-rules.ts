import type { FailureStatus } from '../../../core/flavor.ts';

/** Rule for a failure that a server reports in its own way. All conditions must match. */
export interface FailureRule {
  status?: number;
  /** The `code` or the `type` of the error. */
  code?: string;
  /** Pattern of the message, anchored at its start: a quoted request could contain the same text. */
  says?: Pick<RegExp, 'test'>;
  /** Status that other servers use for this failure, and that decides its handling. */
  means: FailureStatus;
}

export interface UpstreamError {
  message: string;
  code: string;
  type: string;
}

/** Messages of services that proxies pass on, possibly behind the names of their own errors. */
const everywhere: readonly FailureRule[] = [
  { says: passedOn('Your credit balance is too low'), means: 402 }, // Anthropic
  // OpenAI: a single request exceeds the account's tokens per minute, so waiting does not help.
  { status: 429, says: passedOn('Request too large for '), means: 413 },
];

function passedOn(sentence: string): RegExp {
  return new RegExp(String.raw`^(?:[\w.]+(?:Error|Exception)\s*[:-]\s*)*${sentence}`);
}

/** Status that decides the handling of a failure. */
export function effectiveStatus(
  { status, code, type, message }: UpstreamError & { status: number },
  rules: readonly FailureRule[] = [],
): number {
  const rule = [...rules, ...everywhere].find(
    (each) =>
      (each.status === undefined || each.status === status) &&
      (each.code === undefined || each.code === code || each.code === type) &&
      (each.says === undefined || each.says.test(message)),
  );
  return rule?.means ?? status;
}

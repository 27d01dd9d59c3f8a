import type { Clock, Timer } from '../base/clock.ts';
import type { BatchEndpoint } from '../core/batch.ts';
import { checkCreateBatch } from '../wire/batch/create.ts';
import { lineFormats } from '../wire/batch/line-formats.ts';
import { checkCreateMessageBatch } from '../wire/message-batches/create.ts';

/** Delay that lets start-up finish first. */
const delayMs = 500;

/** Compile functions of the checks for a batch of these endpoints, in order of use. */
export const batchChecks = (endpoints: readonly BatchEndpoint[]): (() => void)[] => [
  checkCreateBatch.compile,
  ...endpoints.map((endpoint) => lineFormats[endpoint].check.compile),
  ...(endpoints.includes('/v1/messages') ? [checkCreateMessageBatch.compile] : []),
];

/**
 * Compiles checks soon after start-up, each in its own turn of the event loop. Otherwise the first batch would block all
 * requests for about 30 ms.
 */
export function precompileChecks(checks: readonly (() => void)[], clock: Clock) {
  let timer: Timer | undefined;
  const compileFrom = (at: number): void => {
    if (at + 1 < checks.length) timer = clock.after(0, () => compileFrom(at + 1));
    checks[at]?.();
  };
  return {
    start: () => void (timer = clock.after(delayMs, () => compileFrom(0))),
    stop: () => timer?.cancel(),
  };
}

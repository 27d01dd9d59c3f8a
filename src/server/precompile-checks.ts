import type { Clock, Timer } from '../base/clock.ts';
import type { BatchEndpoint } from '../core/batch.ts';
import { checkCreateBatch } from '../wire/batch/create.ts';
import { lineFormats } from '../wire/batch/line-formats.ts';
import { checkCreateMessageBatch } from '../wire/message-batches/create.ts';

/** Behind what a start sets off. */
const afterMs = 500;

/** The checks that a batch of these endpoints meets, in the order in which it meets them. */
export const batchChecks = (endpoints: readonly BatchEndpoint[]): (() => void)[] => [
  checkCreateBatch.compile,
  ...endpoints.map((endpoint) => lineFormats[endpoint].check.compile),
  ...(endpoints.includes('/v1/messages') ? [checkCreateMessageBatch.compile] : []),
];

/**
 * Has checks compiled soon after the start, each in a turn of the event loop of its own: some 30 ms, for which everybody
 * would wait in the middle of the first batch instead, and together.
 */
export function precompileChecks(checks: readonly (() => void)[], clock: Clock) {
  let timer: Timer | undefined;
  const prepareFrom = (at: number): void => {
    if (at + 1 < checks.length) timer = clock.after(0, () => prepareFrom(at + 1));
    checks[at]?.();
  };
  return {
    start() {
      timer = clock.after(afterMs, () => prepareFrom(0));
    },
    stop() {
      timer?.cancel();
    },
  };
}

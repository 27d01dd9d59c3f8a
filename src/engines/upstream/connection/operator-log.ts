import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Repairs } from './repairs.ts';

/** Something is said once in this long, not for each of 10,000 lines. */
const sayAgainMs = 60_000;

/**
 * What is wrong with a server, for its operator.
 * @param about what is logged with each
 */
export function createOperatorLog(
  log: Log,
  clock: Clock,
  about: { upstream: string; upstream_model: string },
) {
  const saidAt = new Map<string, number>();

  function say(message: string, fields: object): void {
    const now = clock.monotonic();
    const last = saidAt.get(message);
    if (last !== undefined && now - last < sayAgainMs) return;
    saidAt.set(message, now);
    log.warn({ ...about, ...fields }, message);
  }

  return {
    refusal: (status: number, words: string): void => {
      const isOurs = status === 401 || status === 402 || status === 403;
      const why = isOurs ? 'refuses our credentials: check api_key and the account' : `answers ${status}`;
      say(`the upstream ${why}`, { status, said: words });
    },
    repairs: {
      add: (repair) => say(`an answer of the upstream was put right: ${repair}`, {}),
    } satisfies Repairs,
  };
}

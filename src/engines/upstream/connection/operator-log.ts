import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Repairs } from './repairs.ts';

/** Interval in which a message is logged once, not for each of 10,000 lines. */
const repeatMs = 60_000;

/** Warnings about a server, for its operator. @param about fields logged with each */
export function createOperatorLog(log: Log, clock: Clock, about: object) {
  const loggedAt = new Map<string, number>();

  function warn(message: string, fields: object): void {
    const now = clock.monotonic();
    const last = loggedAt.get(message);
    if (last !== undefined && now - last < repeatMs) return;
    loggedAt.set(message, now);
    log.warn({ ...about, ...fields }, message);
  }

  return {
    refusal: (status: number, said: string): void => {
      const isAccount = status === 401 || status === 402 || status === 403;
      const what = isAccount ? 'refuses our credentials: check api_key and the account' : `answers ${status}`;
      warn(`the upstream ${what}`, { status, said });
    },
    repairs: {
      add: (repair) => warn(`an answer of the upstream was repaired: ${repair}`, {}),
    } satisfies Repairs,
  };
}

import { isoSeconds } from '../base/clock.ts';
import { type WaitingCause, waitingReason } from '../core/waiting.ts';

/** Why requests wait, or null. */
export function presentWaiting(cause: WaitingCause | null) {
  if (cause === null) return null;
  return { reason: waitingReason(cause), message: cause.message, since: isoSeconds(cause.since) };
}

import { isoSeconds } from '../../base/clock.ts';
import type { Waiting } from '../../core/waiting.ts';

export function presentWaiting(
  waiting: Waiting | null,
  instant: (ms: number) => string | number = isoSeconds,
) {
  if (waiting === null) return null;
  const { reason, message, since, until } = waiting;
  return { reason, message, since: instant(since), until: until === undefined ? null : instant(until) };
}

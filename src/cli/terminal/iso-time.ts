import { isoSeconds } from '../../base/clock.ts';

/** Unix seconds as `2026-11-21T09:30:00Z`; what is so already stays as it is. */
export function isoTime(instant: number | string): string {
  return typeof instant === 'string' ? instant : isoSeconds(instant * 1000);
}

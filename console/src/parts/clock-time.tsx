import { clockTime, exactTime, relativeTime, toMs } from './format.ts';
import { useNow } from './time.tsx';

/** Time of the day of an instant, with the date of another day, for lists of moments that follow each other closely; the exact and relative one as tooltip. */
export function ClockTime({ at }: { at: string | number }) {
  const now = useNow();
  const ms = toMs(at);
  return (
    <time dateTime={new Date(ms).toISOString()} title={`${exactTime(ms)}, ${relativeTime(ms, now)}`}>
      {clockTime(ms, now)}
    </time>
  );
}

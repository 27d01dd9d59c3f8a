import { duration } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';

/** Time to spare until a deadline; negative with a warning. */
export function Slack({ seconds }: { seconds: number }) {
  const text = duration(seconds * 1_000);
  return seconds < 0 ? <State kind="warning">{text}</State> : text;
}

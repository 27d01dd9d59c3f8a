import type { Clock, Timer } from '../../../base/clock.ts';
import { timedOut } from './network-errors.ts';
import type { Transport } from './transport.ts';

/** A server whose door does not answer so many questions in a row, so far apart, hangs. */
const mostUnanswered = 4;
const askAgainMs = 5_000;

export interface HangWatchParts {
  clock: Clock;
  /** Plain calls that wait for less are not asked after. */
  idleMs: number;
  /** Where they wait; undefined when the engine is stopped. */
  work: () => Pick<Transport, 'waitsMs' | 'giveUp'> | undefined;
  /** Resolves when the server answers anything at all. */
  knock: () => Promise<unknown>;
}

/**
 * A plain call is silent for as long as it is worked on, for an hour perhaps: whether it is, the door of the server tells, and
 * calls of one that does not answer there any more are given up.
 */
export function createHangWatch({ clock, idleMs, work, knock }: HangWatchParts) {
  let timer: Timer | undefined;
  let unanswered = 0;

  async function look(): Promise<void> {
    const calls = work();
    if (calls && calls.waitsMs >= idleMs) {
      const missed = unanswered + 1;
      unanswered = await knock().then(
        () => 0,
        () => missed,
      );
      if (unanswered >= mostUnanswered)
        calls.giveUp(idleMs, timedOut('answers nothing any more, and is taken to hang'));
    } else unanswered = 0;
    timer = undefined;
    if (calls && calls.waitsMs > 0) begin();
  }

  /** There is a plain call. */
  function begin(): void {
    if (work()) timer ??= clock.after(unanswered > 0 ? askAgainMs : idleMs / 2, () => void look());
  }

  function stop(): void {
    timer?.cancel();
    timer = undefined;
  }

  return { begin, stop };
}

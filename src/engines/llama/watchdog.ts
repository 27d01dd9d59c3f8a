import type { Clock } from '../../base/clock.ts';
import type { ToChild } from './protocol.ts';

const everyMs = 5_000;
/** Unanswered pings. They are counted, not timed: a parent that was itself held up must not blame the child. */
const maxUnanswered = 6;
/** Pongs without a step between them. One batch of a large model on a slow processor takes its time. */
const maxStill = 36;

export type Watchdog = ReturnType<typeof startWatchdog>;

/** Notices a child that no longer answers, or that works without getting anywhere. */
export function startWatchdog(
  clock: Clock,
  send: (message: ToChild) => void,
  onStuck: (why: string) => void,
) {
  let timer = clock.after(everyMs, tick);
  let unanswered = 0;
  let still = 0;
  let lastSteps = -1;

  function tick(): void {
    if (unanswered >= maxUnanswered) return onStuck('it does not answer');
    if (still >= maxStill) return onStuck('it works on requests but gets nowhere');
    unanswered++;
    send({ type: 'ping' });
    timer = clock.after(everyMs, tick);
  }

  return {
    heard({ steps, working }: { steps: number; working: number }): void {
      unanswered = 0;
      still = working > 0 && steps === lastSteps ? still + 1 : 0;
      lastSteps = steps;
    },
    stop: () => timer.cancel(),
  };
}

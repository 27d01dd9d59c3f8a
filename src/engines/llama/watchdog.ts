import type { Clock, Timer } from '../../base/clock.ts';
import type { ToChild } from './protocol.ts';

const everyMs = 5_000;
/** Unanswered pings. They are counted, not timed: a parent that was itself held up must not blame the child. */
const maxUnanswered = 6;
/** Pongs without a step between them. One batch of a large model on a slow processor takes its time. */
const maxStill = 36;

/** Notices a child that no longer answers, or that works without getting anywhere. */
export function createWatchdog(clock: Clock, onStuck: (why: string) => void) {
  let timer: Timer | undefined;
  let unanswered = 0;
  let still = 0;
  let lastSteps = -1;

  function tick(send: (message: ToChild) => void): void {
    if (unanswered >= maxUnanswered) return onStuck('it does not answer');
    if (still >= maxStill) return onStuck('it works on requests but gets nowhere');
    unanswered++;
    send({ type: 'ping' });
    timer = clock.after(everyMs, () => tick(send));
  }

  return {
    start(send: (message: ToChild) => void): void {
      unanswered = 0;
      still = 0;
      lastSteps = -1;
      timer = clock.after(everyMs, () => tick(send));
    },
    heard({ steps, working }: { steps: number; working: number }): void {
      unanswered = 0;
      still = working > 0 && steps === lastSteps ? still + 1 : 0;
      lastSteps = steps;
    },
    stop(): void {
      timer?.cancel();
    },
  };
}

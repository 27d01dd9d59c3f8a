import type { Clock } from '../../base/clock.ts';
import type { ToChild } from './protocol.ts';

const everyMs = 5_000;
/** Unanswered pings. Counted instead of timed, because the parent may have been suspended itself. */
const maxUnanswered = 6;
/** Pongs in a row without a step. One batch of a large model on a slow processor may take minutes. */
const maxStalled = 36;

export type Watchdog = ReturnType<typeof startWatchdog>;

/** Detects a child that stops answering, or that makes no progress on its requests. */
export function startWatchdog(clock: Clock, send: (ping: ToChild) => void, onStuck: (why: string) => void) {
  let timer = clock.after(everyMs, tick);
  let unanswered = 0;
  let stalled = 0;
  let lastSteps = -1;

  function tick(): void {
    if (unanswered >= maxUnanswered) return onStuck('it does not answer');
    if (stalled >= maxStalled) return onStuck('it makes no progress on its requests');
    unanswered++;
    send({ type: 'ping' });
    timer = clock.after(everyMs, tick);
  }

  return {
    onPong({ steps, working }: { steps: number; working: number }): void {
      unanswered = 0;
      stalled = working > 0 && steps === lastSteps ? stalled + 1 : 0;
      lastSteps = steps;
    },
    stop: () => timer.cancel(),
  };
}

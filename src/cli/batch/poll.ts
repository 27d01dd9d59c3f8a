import { sleep } from '../../base/clock.ts';
import { createOutageTimer, type OutageDeps } from '../shared/outage.ts';

const minPollMs = 100;
const maxPollMs = 2000;

/**
 * Polls with growing pauses until `poll` returns true or the signal aborts.
 * @throws Unreachable after two minutes without an answer
 */
export async function pollUntilDone(
  poll: () => Promise<boolean>,
  { clock, signal, note }: OutageDeps & { signal: AbortSignal },
): Promise<void> {
  const outage = createOutageTimer({ clock, note });
  let pause = minPollMs;
  for (;;) {
    try {
      if (signal.aborted || (await poll())) return;
      outage.answered();
    } catch (error) {
      outage.failed(error);
    }
    await sleep(clock, pause, signal);
    pause = Math.min(maxPollMs, pause * 1.3);
  }
}

import { sleep, type Clock } from '../../base/clock.ts';
import { ClientError, Unreachable } from '../../client/errors.ts';

const minPollMs = 100;
const maxPollMs = 2000;
/** Outage that is tolerated, such as a restart of the server. */
const maxOutageMs = 120_000;

interface PollDeps {
  clock: Clock;
  /** Called once for each outage. */
  note: (text: string) => void;
}

/**
 * Polls with growing pauses until `poll` returns true or the signal aborts.
 * @throws Unreachable after two minutes without an answer
 */
export async function pollUntilDone(
  poll: () => Promise<boolean>,
  { clock, signal, note }: PollDeps & { signal: AbortSignal },
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

/** Limits the time that a command waits for an unavailable server. */
export function createOutageTimer({ clock, note }: PollDeps) {
  let lostSince: number | undefined;
  return {
    answered() {
      lostSince = undefined;
    },
    /** @throws the error, unless it is transient and the outage is shorter than two minutes */
    failed(error: unknown) {
      if (!isTransient(error)) throw error;
      if (lostSince === undefined) note(`${errorText(error)}. Waiting for the server; its data is safe.`);
      lostSince ??= clock.monotonic();
      if (clock.monotonic() - lostSince > maxOutageMs) throw error;
    },
  };
}

/** True for errors of a server that restarts or is overloaded. */
function isTransient(error: unknown): boolean {
  if (error instanceof ClientError) return error.status === 503 || error.status === 429;
  return error instanceof Unreachable;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}

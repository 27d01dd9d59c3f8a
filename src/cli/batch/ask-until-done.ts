import { sleep, type Clock } from '../../base/clock.ts';
import { ClientError, Unreachable } from '../../client/errors.ts';

const fastestPollMs = 100;
const slowestPollMs = 2000;
/** A server may restart under a batch; that is waited for. */
const patienceMs = 120_000;

interface Lost {
  clock: Clock;
  /** Told once when the server does not answer. */
  note: (text: string) => void;
}

export interface Asking extends Lost {
  signal?: AbortSignal | undefined;
}

/**
 * Asks again and again, with growing pauses, until `ask` says that it is done or the signal aborts.
 * @throws Unreachable after two minutes without an answer
 */
export async function askUntilDone(
  ask: () => Promise<boolean>,
  { clock, signal, note }: Asking,
): Promise<void> {
  const patience = createPatience({ clock, note });
  let pause = fastestPollMs;
  for (;;) {
    try {
      if (signal?.aborted === true || (await ask())) return;
      patience.answered();
    } catch (error) {
      patience.failed(error);
    }
    await sleep(clock, pause, signal);
    pause = Math.min(slowestPollMs, pause * 1.3);
  }
}

/** For how long a server that does not answer is waited for. */
export function createPatience({ clock, note }: Lost) {
  let lostSince: number | undefined;
  return {
    answered() {
      lostSince = undefined;
    },
    /** @throws what does not go away by waiting, or has not in two minutes */
    failed(error: unknown) {
      if (!isPassing(error)) throw error;
      if (lostSince === undefined)
        note(`${errorText(error)}. Waiting for the server; what it has is safe there.`);
      lostSince ??= clock.monotonic();
      if (clock.monotonic() - lostSince > patienceMs) throw error;
    },
  };
}

/** Whether it goes away by waiting: a server that restarts, or has too much to do just then. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof Unreachable ||
    (error instanceof ClientError && (error.status === 503 || error.status === 429))
  );
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}

import { sleep, type Clock } from '../../base/clock.ts';
import { ClientError, Unreachable } from '../../client/errors.ts';

const minPollMs = 100;
const maxPollMs = 2000;
/** A server may restart under a batch; that is waited for. */
const maxOutageMs = 120_000;

interface OutageDeps {
  clock: Clock;
  /** Told once when the server does not answer. */
  note: (text: string) => void;
}

export interface PollOptions extends OutageDeps {
  signal?: AbortSignal | undefined;
}

/**
 * Asks again and again, with growing pauses, until `ask` says that it is done or the signal aborts.
 * @throws Unreachable after two minutes without an answer
 */
export async function pollUntilDone(
  ask: () => Promise<boolean>,
  { clock, signal, note }: PollOptions,
): Promise<void> {
  const patience = createOutageTimer({ clock, note });
  let pause = minPollMs;
  for (;;) {
    try {
      if (signal?.aborted === true || (await ask())) return;
      patience.answered();
    } catch (error) {
      patience.failed(error);
    }
    await sleep(clock, pause, signal);
    pause = Math.min(maxPollMs, pause * 1.3);
  }
}

/** For how long a server that does not answer is waited for. */
export function createOutageTimer({ clock, note }: OutageDeps) {
  let lostSince: number | undefined;
  return {
    answered() {
      lostSince = undefined;
    },
    /** @throws what does not go away by waiting, or has not in two minutes */
    failed(error: unknown) {
      if (!isTransient(error)) throw error;
      if (lostSince === undefined)
        note(`${errorText(error)}. Waiting for the server; what it has is safe there.`);
      lostSince ??= clock.monotonic();
      if (clock.monotonic() - lostSince > maxOutageMs) throw error;
    },
  };
}

/** Whether it goes away by waiting: a server that restarts, or has too much to do just then. */
function isTransient(error: unknown): boolean {
  return (
    error instanceof Unreachable ||
    (error instanceof ClientError && (error.status === 503 || error.status === 429))
  );
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}

import type { Clock } from '../../base/clock.ts';
import { ClientError, Unreachable } from '../../client/errors.ts';

/** Outage that a command which ends by itself tolerates, such as a restart of the server. */
const maxOutageMs = 120_000;

export interface OutageDeps {
  clock: Clock;
  /** Called once for each outage. */
  note: (text: string) => void;
}

/**
 * Limits the time that a command waits for an unavailable server.
 * @param maxMs two minutes if absent
 */
export function createOutageTimer({ clock, note }: OutageDeps, maxMs = maxOutageMs) {
  let lostSince: number | undefined;
  return {
    /** Returns true if an outage has ended. */
    answered(): boolean {
      const wasLost = lostSince !== undefined;
      lostSince = undefined;
      return wasLost;
    },
    /** @throws the error, unless it is transient and the outage is shorter than the limit */
    failed(error: unknown): void {
      if (!isTransient(error)) throw error;
      if (lostSince === undefined) note(`${errorText(error)}. Waiting for the server; its data is safe.`);
      lostSince ??= clock.monotonic();
      if (clock.monotonic() - lostSince > maxMs) throw error;
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

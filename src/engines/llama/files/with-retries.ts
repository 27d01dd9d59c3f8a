import { backoffMs } from '../../../base/backoff.ts';
import { sleep } from '../../../base/clock.ts';
import { TransientFault, ModelFileError } from './faults.ts';
import type { ModelFileDeps } from './model-file-deps.ts';

export interface RetryCall {
  signal: AbortSignal;
  onNote: (note: string) => void;
}

/** Attempts in a row without progress. */
const maxAttempts = 6;
const pauses = { initialMs: 500, maxMs: 30_000 };
/** Upper bound for `Retry-After`. */
const maxWaitMs = 300_000;

/** Repeats `attempt` until it returns a value; undefined is progress. @throws ModelFileError after too many failures */
export async function withRetries<T>(
  { clock, random }: ModelFileDeps,
  { signal, onNote }: RetryCall,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let failures = 0; ;) {
    let pauseMs = pauses.initialMs;
    try {
      const result = await attempt();
      if (result !== undefined) return result;
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientFault)) throw error;
      failures++;
      if (failures >= maxAttempts) throw gaveUp(error);
      const usual = backoffMs(failures + 1, pauses, random.float());
      pauseMs = Math.min(error.retryAfterMs ?? usual, maxWaitMs);
      if (failures === 2) onNote(`Trying again: ${error.message}.`);
    }
    await sleep(clock, pauseMs, signal);
    signal.throwIfAborted();
  }
}

function gaveUp(error: TransientFault): ModelFileError {
  const sentence = error.message[0]!.toUpperCase() + error.message.slice(1);
  return new ModelFileError(
    `${sentence}, and ${maxAttempts} attempts in a row brought nothing.`,
    'Fetched bytes are kept: run it again to resume.',
    { cause: error },
  );
}

import { backoffMs } from '../../../base/backoff.ts';
import { sleep } from '../../../base/clock.ts';
import { TransientFault, ModelFileError } from './faults.ts';
import type { ModelFileDeps } from './model-file-deps.ts';

export interface RetryCall {
  signal: AbortSignal;
  onNote: (note: string) => void;
}

/** How often something is tried that brings no byte. */
const attempts = 6;
const pauses = { initialMs: 500, maxMs: 30_000 };
/** Of what a server asks for. */
const longestWaitMs = 300_000;

/**
 * Tries until `attempt` gives something; undefined is some progress. Attempts that bring nothing are counted, and each waits
 * longer than the one before.
 */
export async function withRetries<T>(
  { clock, random }: ModelFileDeps,
  { signal, onNote }: RetryCall,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let failures = 0; ;) {
    let pauseMs = pauses.initialMs;
    try {
      const found = await attempt();
      if (found !== undefined) return found;
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientFault)) throw error;
      failures++;
      if (failures >= attempts) throw gaveUp(error);
      const usual = backoffMs(failures + 1, pauses, random.float());
      pauseMs = Math.min(error.retryAfterMs ?? usual, longestWaitMs);
      if (failures === 2) onNote(`Trying again: ${error.message}.`);
    }
    await sleep(clock, pauseMs, signal);
    signal.throwIfAborted();
  }
}

function gaveUp(error: TransientFault): ModelFileError {
  const sentence = error.message[0]!.toUpperCase() + error.message.slice(1);
  return new ModelFileError(
    `${sentence}, and ${attempts} times in a row nothing came.`,
    'What was fetched is kept: run it again to go on.',
    { cause: error },
  );
}

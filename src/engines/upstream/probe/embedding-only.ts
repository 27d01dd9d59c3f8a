import type { Clock } from '../../../base/clock.ts';
import { unlessAborted } from '../../../base/on-abort.ts';
import { AbsentError, noChat } from '../connection/status-errors.ts';

/** How long what a server said of embeddings is believed. */
const believedMs = 30_000;

/**
 * Asks for answers. A server without that call is being rolled out, or only embeds with the model: the latter is believed of one that
 * has never answered, embeds, and then refuses once more.
 * @param embeds asks whether it embeds with the model; never rejects
 */
export function createEmbeddingOnlyCheck(clock: Clock, embeds: () => Promise<boolean>) {
  let hasAnswered = false;
  let asked: { embeds: Promise<boolean>; until: number } | undefined;

  function embedsLately(): Promise<boolean> {
    const now = clock.monotonic();
    if (!asked || now >= asked.until) asked = { embeds: embeds(), until: now + believedMs };
    return asked.embeds;
  }

  async function answered<T>(ask: () => Promise<T>): Promise<T> {
    const answer = await ask();
    hasAnswered = true;
    return answer;
  }

  async function askCarefully<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await answered(ask);
    } catch (error) {
      if (!(error instanceof AbsentError) || hasAnswered) throw error;
      if (!(await unlessAborted(embedsLately(), signal))) throw error;
    }
    try {
      return await answered(ask);
    } catch (error) {
      throw error instanceof AbsentError ? noChat(error.tail) : error;
    }
  }

  return <T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    hasAnswered ? ask() : askCarefully(ask, signal);
}

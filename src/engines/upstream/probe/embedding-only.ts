import type { Clock } from '../../../base/clock.ts';
import { unlessAborted } from '../../../base/on-abort.ts';
import { AbsentError, noChat } from '../connection/status-errors.ts';

/** Lifetime of the answer whether a server embeds with the model. */
const cacheMs = 30_000;

/**
 * Wraps chat calls. A server without the chat endpoint is being rolled out, or only embeds with the model. The latter is
 * concluded of a server that never answered, embeds, and then refuses once more.
 * @param embeds resolves true where the server embeds with the model; never rejects
 */
export function createEmbeddingOnlyCheck(clock: Clock, embeds: () => Promise<boolean>) {
  let hasAnswered = false;
  let cached: { embeds: Promise<boolean>; until: number } | undefined;

  function cachedEmbeds(): Promise<boolean> {
    const now = clock.monotonic();
    if (!cached || now >= cached.until) cached = { embeds: embeds(), until: now + cacheMs };
    return cached.embeds;
  }

  async function send<T>(call: () => Promise<T>): Promise<T> {
    const answer = await call();
    hasAnswered = true;
    return answer;
  }

  async function sendChecked<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await send(call);
    } catch (error) {
      if (!(error instanceof AbsentError) || hasAnswered) throw error;
      if (!(await unlessAborted(cachedEmbeds(), signal))) throw error;
    }
    try {
      return await send(call);
    } catch (error) {
      throw error instanceof AbsentError ? noChat(error.tail) : error;
    }
  }

  return <T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    hasAnswered ? call() : sendChecked(call, signal);
}

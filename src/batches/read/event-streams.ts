import type { Timer } from '../../base/clock.ts';
import { unlessAborted } from '../../base/on-abort.ts';
import { type Batch, isFinal } from '../../core/batch.ts';
import { ApiError, notFound } from '../../core/errors.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import type { BatchContext } from '../batch-context.ts';

/** How often a batch is looked at while anybody follows it. */
const lookMs = 1_000;

export interface BatchEventStreamsDeps extends Pick<BatchContext, 'clock' | 'log'> {
  /** The batch as it is now; undefined when there is no such batch any more. */
  look: (batchId: string) => Promise<BatchView | undefined>;
}

/** A batch that somebody follows. */
interface WatchedState {
  followers: number;
  latest: BatchView | undefined;
  /** Settles when there is a later one, or none will come. */
  news: PromiseWithResolvers<void>;
  timer: Timer | undefined;
}

/**
 * Tells whoever follows a batch how it changes. One look a second at each such batch serves all its followers; nobody
 * looks at batches that nobody follows. Who is slow misses states in between and never the last one.
 */
export class BatchEventStreams {
  #deps: BatchEventStreamsDeps;
  #followed = new Map<string, WatchedState>();
  #stopped = false;

  constructor(deps: BatchEventStreamsDeps) {
    this.#deps = deps;
  }

  /**
   * The batch as it is, then whenever it has changed, the same value for all; over once it is final.
   * @throws ApiError `shutting_down` when the engine stops, `not_found` when the batch goes; the reason of `signal`
   */
  async *follow(batchId: string, signal: AbortSignal): AsyncGenerator<BatchView> {
    const followed = this.#join(batchId);
    try {
      for (let seen: BatchView | undefined; ;) {
        signal.throwIfAborted();
        if (this.#stopped) throw shuttingDown();
        while (!followed.latest || followed.latest === seen)
          await unlessAborted(followed.news.promise, signal);
        seen = followed.latest;
        yield seen;
        if (isFinal(seen.batch.status)) return;
      }
    } finally {
      followed.followers--;
      if (followed.followers === 0) this.#forget(batchId, followed);
    }
  }

  /** Ends all following. */
  stop(): void {
    this.#stopped = true;
    for (const [batchId, followed] of this.#followed) this.#fail(batchId, followed, shuttingDown());
  }

  #join(batchId: string): WatchedState {
    let followed = this.#followed.get(batchId);
    if (!followed) {
      followed = { followers: 0, latest: undefined, news: newsOf(), timer: undefined };
      this.#followed.set(batchId, followed);
      void this.#look(batchId, followed);
    }
    followed.followers++;
    return followed;
  }

  async #look(batchId: string, followed: WatchedState): Promise<void> {
    const { look, clock, log } = this.#deps;
    try {
      const view = await look(batchId);
      if (!view) return this.#fail(batchId, followed, notFound('batch'));
      if (!followed.latest || stateOf(view) !== stateOf(followed.latest)) {
        followed.latest = view;
        followed.news.resolve();
        followed.news = newsOf();
      }
      if (isFinal(view.batch.status)) return;
    } catch (error) {
      // The next look may do; the followers wait.
      log.warn({ err: error, batch: batchId }, 'a batch that is followed could not be read');
    }
    if (followed.followers > 0 && !this.#stopped)
      followed.timer = clock.after(lookMs, () => void this.#look(batchId, followed));
  }

  #fail(batchId: string, followed: WatchedState, reason: ApiError): void {
    this.#forget(batchId, followed);
    followed.news.reject(reason);
  }

  #forget(batchId: string, followed: WatchedState): void {
    followed.timer?.cancel();
    if (this.#followed.get(batchId) === followed) this.#followed.delete(batchId);
  }
}

/** What is worth telling when it has changed. How fast the batch is and when it will end, changes with every look. */
function stateOf({ batch, running, waiting, ahead, atRisk }: BatchView): string {
  const { status, ok, err }: Batch = batch;
  return JSON.stringify([status, ok, err, running, waiting, ahead, atRisk]);
}

/** Whoever waits for it hears why none comes; where nobody does, nobody has to. */
function newsOf(): PromiseWithResolvers<void> {
  const news = Promise.withResolvers<void>();
  news.promise.catch(() => {});
  return news;
}

function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is shutting down.', { retryAfter: 1 });
}

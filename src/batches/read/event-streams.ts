import type { Timer } from '../../base/clock.ts';
import { newEvent, unlessAborted } from '../../base/on-abort.ts';
import { type Batch, isFinal } from '../../core/batch.ts';
import { type ApiError, notFound, shuttingDown } from '../../core/errors.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import type { BatchContext } from '../batch-context.ts';

/** Interval between two reads of a followed batch. */
const readMs = 1_000;

export interface BatchEventStreamsDeps extends Pick<BatchContext, 'clock' | 'log'> {
  /** Reads a batch; undefined if it no longer exists. */
  read: (batchId: string) => Promise<BatchView | undefined>;
}

/** Shared state of the followers of one batch. */
interface Followed {
  followers: number;
  latest: BatchView | undefined;
  /** Settles with the next state, or when there will be none. */
  change: PromiseWithResolvers<void>;
  timer: Timer | undefined;
}

/** Streams of batch states. One read a second serves all followers of a batch. A slow follower skips states, but never the last one. */
export class BatchEventStreams {
  #deps: BatchEventStreamsDeps;
  #followed = new Map<string, Followed>();
  #stopped = false;

  constructor(deps: BatchEventStreamsDeps) {
    this.#deps = deps;
  }

  /**
   * Yields the batch, then again whenever it changes, the same value for all, until it is final.
   * @throws ApiError `shutting_down` when the engine stops, `not_found` when the batch is deleted; the reason of `signal`
   */
  async *follow(batchId: string, signal: AbortSignal): AsyncGenerator<BatchView> {
    const followed = this.#join(batchId);
    try {
      for (let seen: BatchView | undefined; ;) {
        signal.throwIfAborted();
        if (this.#stopped) throw shuttingDown();
        while (!followed.latest || followed.latest === seen)
          await unlessAborted(followed.change.promise, signal);
        seen = followed.latest;
        yield seen;
        if (isFinal(seen.batch.status)) return;
      }
    } finally {
      followed.followers--;
      if (followed.followers === 0) this.#forget(batchId, followed);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const [batchId, followed] of this.#followed) this.#fail(batchId, followed, shuttingDown());
  }

  #join(batchId: string): Followed {
    let followed = this.#followed.get(batchId);
    if (!followed) {
      followed = { followers: 0, latest: undefined, change: newEvent(), timer: undefined };
      this.#followed.set(batchId, followed);
      void this.#read(batchId, followed);
    }
    followed.followers++;
    return followed;
  }

  async #read(batchId: string, followed: Followed): Promise<void> {
    const { read, clock, log } = this.#deps;
    try {
      const view = await read(batchId);
      if (!view) return this.#fail(batchId, followed, notFound('batch'));
      if (!followed.latest || stateOf(view) !== stateOf(followed.latest)) {
        followed.latest = view;
        followed.change.resolve();
        followed.change = newEvent();
      }
      if (isFinal(view.batch.status)) return;
    } catch (error) {
      // The followers wait for the next read.
      log.warn({ err: error, batch: batchId }, 'a followed batch could not be read');
    }
    if (followed.followers > 0 && !this.#stopped)
      followed.timer = clock.after(readMs, () => void this.#read(batchId, followed));
  }

  #fail(batchId: string, followed: Followed, reason: ApiError): void {
    this.#forget(batchId, followed);
    followed.change.reject(reason);
  }

  #forget(batchId: string, followed: Followed): void {
    followed.timer?.cancel();
    if (this.#followed.get(batchId) === followed) this.#followed.delete(batchId);
  }
}

/** The part of a view whose change is an event; rate and ETA differ at every read. */
function stateOf({ batch, running, waiting, place, atRisk }: BatchView): string {
  const { status, ok, err, priority }: Batch = batch;
  return JSON.stringify([status, ok, err, priority, running, waiting, place, atRisk]);
}

import { backoffMs } from '../../base/backoff.ts';
import type { BatchContext } from '../batch-context.ts';
import { failureFields } from '../../core/retry-log.ts';
import type { Waiting } from '../../core/waiting.ts';
import { isStorageUnavailable, lineBackoff } from '../lines/line-errors.ts';
import type { LocalWork } from './local-work.ts';

/** Faults of its own after which a batch fails. With the back-off between them they take some seconds. */
const maxFaults = 4;
/** A batch without an error for this long starts over with the shortest back-off. */
const forgetMs = 600_000;
/** Longest time in which a retry shows that the storage works again. */
const retryMs = 60_000;

export interface BatchBackoffDeps extends Pick<BatchContext, 'clock' | 'random' | 'log'> {
  work: LocalWork;
  fail: (batchId: string, message: string) => Promise<void>;
}

interface Setback {
  /** Monotonic milliseconds. */
  until: number;
  times: number;
  faults: number;
  /** Epoch milliseconds since which storage is unavailable; null for other causes. */
  storageSince: number | null;
}

export function storageUnavailable(since: number): Waiting {
  const message =
    'The stored data of the batch cannot be read or written at present. Offpeak retries by itself.';
  return { reason: 'storage_unavailable', message, since };
}

/** Exponential back-off per batch. Meanwhile the batch's chunks are released and none are claimed, so that it delays no other batch. */
export class BatchBackoff {
  #deps: BatchBackoffDeps;
  #setbacks = new Map<string, Setback>();

  constructor(deps: BatchBackoffDeps) {
    this.#deps = deps;
  }

  isWaiting(batchId: string): boolean {
    const setback = this.#setbacks.get(batchId);
    return setback !== undefined && setback.until > this.#deps.clock.monotonic();
  }

  /** Ids of the batches in back-off. */
  get waiting(): string[] {
    return [...this.#setbacks.keys()].filter((batchId) => this.isWaiting(batchId));
  }

  /** Reason for the back-off, if storage is the cause. */
  storageWaiting(batchId: string): Waiting | null {
    const { until, storageSince: since = null } = this.#setbacks.get(batchId) ?? { until: 0 };
    return since === null || until + retryMs < this.#deps.clock.monotonic()
      ? null
      : storageUnavailable(since);
  }

  /** Clears the storage cause once something of the batch was stored. */
  clearStorage(batchId: string): void {
    const setback = this.#setbacks.get(batchId);
    if (setback) setback.storageSince = null;
  }

  /**
   * Backs off after `error`. A fault of the batch itself ends it as failed after a few retries.
   * @param fault message with which the batch would fail; null for errors that may pass
   */
  async add(batchId: string, error: unknown, fault: string | null): Promise<void> {
    const { work, clock, random, log, fail } = this.#deps;
    work.yieldBatch(batchId);
    // Lines in flight together meet the same error.
    if (this.isWaiting(batchId)) return;
    const now = clock.monotonic();
    for (const [id, { until }] of this.#setbacks) if (until + forgetMs < now) this.#setbacks.delete(id);
    const before = this.#setbacks.get(batchId) ?? { times: 0, faults: 0, storageSince: null };
    const times = before.times + 1;
    const faults = before.faults + (fault === null ? 0 : 1);
    const storageSince = isStorageUnavailable(error) ? (before.storageSince ?? clock.now()) : null;
    const wait = backoffMs(times, lineBackoff, random.float());
    this.#setbacks.set(batchId, { until: now + wait, times, faults, storageSince });
    log.error({ ...failureFields(error), batch: batchId, wait_ms: wait }, 'a batch backs off');
    if (fault !== null && faults >= maxFaults) await fail(batchId, fault);
  }

  /** Ends a batch as failed. It backs off first, so that this process does not run it again even if that cannot be written. */
  async fail(batchId: string, error: unknown, message: string): Promise<void> {
    await this.add(batchId, error, null);
    await this.#deps.fail(batchId, message);
  }
}

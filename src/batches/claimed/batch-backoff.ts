import { backoffMs } from '../../base/backoff.ts';
import type { BatchContext } from '../batch-context.ts';
import type { Waiting } from '../../core/waiting.ts';
import { isStorageUnavailable, linePauses } from '../lines/line-errors.ts';
import type { LocalWork } from './local-work.ts';

/** How many faults of its own a batch may meet; with the waits between them they take some seconds. */
const maxFaults = 4;
/** A batch that met none for so long begins anew. */
const forgetMs = 600_000;
/** So long a try may take, of which nobody knows yet whether it goes better. */
const tryMs = 60_000;

export interface BatchBackoffDeps extends Pick<BatchContext, 'clock' | 'random' | 'log'> {
  work: LocalWork;
  /** Ends the batch as failed. */
  fail: (batchId: string, message: string) => Promise<void>;
}

interface Setback {
  /** On the monotonic clock. */
  until: number;
  times: number;
  faults: number;
  /** Since when it waits for files or the database, in epoch milliseconds; null where it is something else. */
  storageSince: number | null;
}

export function storageUnavailable(since: number): Waiting {
  const message =
    'What is stored for the batch cannot be read or written at present. It is tried again by itself.';
  return { reason: 'storage_unavailable', message, since };
}

/**
 * Batches that cannot go on at present. Each waits by itself, longer every time, and is not in anybody's way meanwhile:
 * what this process has of it is given back, and nothing of it is claimed.
 */
export class BatchBackoff {
  #deps: BatchBackoffDeps;
  #backoff = new Map<string, Setback>();

  constructor(deps: BatchBackoffDeps) {
    this.#deps = deps;
  }

  /** Whether the batch is to be left alone now. */
  isWaiting(batchId: string): boolean {
    const setback = this.#backoff.get(batchId);
    return setback !== undefined && setback.until > this.#deps.clock.monotonic();
  }

  /** The batches that are to be left alone now. */
  get waiting(): string[] {
    return [...this.#backoff.keys()].filter((batchId) => this.isWaiting(batchId));
  }

  /** Why the batch waits, where it is for files or the database. */
  storageWaiting(batchId: string): Waiting | null {
    const { until, storageSince: since = null } = this.#backoff.get(batchId) ?? { until: 0 };
    return since === null || until + tryMs < this.#deps.clock.monotonic() ? null : storageUnavailable(since);
  }

  /** Something of the batch was stored. */
  clearStorage(batchId: string): void {
    const setback = this.#backoff.get(batchId);
    if (setback) setback.storageSince = null;
  }

  /**
   * The batch met `error` and waits. Where that is a fault of its own, which waiting does not mend, a few tries make sure
   * of it and then the batch ends as failed.
   * @param fault what the batch is told when it ends for it, or null for what may pass
   */
  async add(batchId: string, error: unknown, fault: string | null): Promise<void> {
    const { work, clock, random, log, fail } = this.#deps;
    work.yieldBatch(batchId);
    // Lines that were under way together meet the same error.
    if (this.isWaiting(batchId)) return;
    const now = clock.monotonic();
    for (const [id, { until }] of this.#backoff) if (until + forgetMs < now) this.#backoff.delete(id);
    const before = this.#backoff.get(batchId) ?? { times: 0, faults: 0, storageSince: null };
    const setback = {
      until: now,
      times: before.times + 1,
      faults: before.faults + (fault === null ? 0 : 1),
      storageSince: isStorageUnavailable(error) ? (before.storageSince ?? clock.now()) : null,
    };
    const wait = backoffMs(setback.times, linePauses, random.float());
    setback.until += wait;
    this.#backoff.set(batchId, setback);
    log.error({ err: error, batch: batchId, wait_ms: wait }, 'a batch cannot go on at present');
    if (fault !== null && setback.faults >= maxFaults) await fail(batchId, fault);
  }
}

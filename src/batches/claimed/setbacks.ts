import { backoffMs } from '../../base/backoff.ts';
import type { Ground } from '../ground.ts';
import type { Waiting } from '../../core/waiting.ts';
import { isStorageAway, linePauses } from '../lines/line-errors.ts';
import type { WorkInHand } from './work-in-hand.ts';

/** How many faults of its own a batch may meet; with the waits between them they take some seconds. */
const mostFaults = 4;
/** A batch that met none for so long begins anew. */
const forgetMs = 600_000;
/** So long a try may take, of which nobody knows yet whether it goes better. */
const tryMs = 60_000;

export interface SetbacksDeps extends Pick<Ground, 'clock' | 'random' | 'log'> {
  work: WorkInHand;
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

export function noStorageSince(since: number): Waiting {
  const message =
    'What is stored for the batch cannot be read or written at present. It is tried again by itself.';
  return { reason: 'storage_unavailable', message, since };
}

/**
 * Batches that cannot go on at present. Each waits by itself, longer every time, and is not in anybody's way meanwhile:
 * what this process has of it is given back, and nothing of it is claimed.
 */
export class Setbacks {
  #parts: SetbacksDeps;
  #setbacks = new Map<string, Setback>();

  constructor(parts: SetbacksDeps) {
    this.#parts = parts;
  }

  /** Whether the batch is to be left alone now. */
  waits(batchId: string): boolean {
    const setback = this.#setbacks.get(batchId);
    return setback !== undefined && setback.until > this.#parts.clock.monotonic();
  }

  /** The batches that are to be left alone now. */
  get waiting(): string[] {
    return [...this.#setbacks.keys()].filter((batchId) => this.waits(batchId));
  }

  /** Why the batch waits, where it is for files or the database. */
  storage(batchId: string): Waiting | null {
    const { until, storageSince: since = null } = this.#setbacks.get(batchId) ?? { until: 0 };
    return since === null || until + tryMs < this.#parts.clock.monotonic() ? null : noStorageSince(since);
  }

  /** Something of the batch was stored. */
  goesOn(batchId: string): void {
    const setback = this.#setbacks.get(batchId);
    if (setback) setback.storageSince = null;
  }

  /**
   * The batch met `error` and waits. Where that is a fault of its own, which waiting does not mend, a few tries make sure
   * of it and then the batch ends as failed.
   * @param fault what the batch is told when it ends for it, or null for what may pass
   */
  async add(batchId: string, error: unknown, fault: string | null): Promise<void> {
    const { work, clock, random, log, fail } = this.#parts;
    work.yieldBatch(batchId);
    // Lines that were under way together meet the same error.
    if (this.waits(batchId)) return;
    const now = clock.monotonic();
    for (const [id, { until }] of this.#setbacks) if (until + forgetMs < now) this.#setbacks.delete(id);
    const before = this.#setbacks.get(batchId) ?? { times: 0, faults: 0, storageSince: null };
    const setback = {
      until: now,
      times: before.times + 1,
      faults: before.faults + (fault === null ? 0 : 1),
      storageSince: isStorageAway(error) ? (before.storageSince ?? clock.now()) : null,
    };
    const wait = backoffMs(setback.times, linePauses, random.float());
    setback.until += wait;
    this.#setbacks.set(batchId, setback);
    log.error({ err: error, batch: batchId, wait_ms: wait }, 'a batch cannot go on at present');
    if (fault !== null && setback.faults >= mostFaults) await fail(batchId, fault);
  }
}

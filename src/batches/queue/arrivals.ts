import type { Clock } from '../../base/clock.ts';
import { createPoll } from '../../base/poll.ts';
import type { Service } from '../../base/service.ts';
import { failureFields } from '../../core/retry-log.ts';
import type { BatchContext } from '../batch-context.ts';
import type { Peers } from '../../inference/peers.ts';
import type { BatchStore } from '../../store/contract/batches.ts';

/** Interval between two reads: a batch of another process starts this soon. Claims look for all other work once a second. */
const readMs = 150;
/** A batch is found this way for this long after its creation. A batch that is committed later waits for the next claim. */
const lookBackMs = 2_000;
/** New batches that are read, newest first. */
const maxNew = 64;

export interface ArrivalsDeps extends Pick<BatchContext, 'clock' | 'log'> {
  time: Pick<Clock, 'now'>;
  store: { batches: Pick<BatchStore, 'createdSince'> };
  peers: Pick<Peers, 'isAlone'>;
  /** True if this process can send more lines now. */
  hasRoom: () => boolean;
  /** Claims. */
  wake: () => void;
}

/**
 * Wakes a process that has room when another one has created batches, by a poll that a pooler does not hinder. The poll is one read of
 * an index; a claim takes locks, and also finds work that is not new, but may not run.
 */
export function createArrivals({ store, peers, clock, time, log, hasRoom, wake }: ArrivalsDeps): Service {
  let seen: ReadonlySet<string> = new Set();

  async function read(): Promise<void> {
    // A process wakes itself when it creates a batch.
    if (peers.isAlone || !hasRoom()) return;
    const ids = await store.batches.createdSince(time.now() - lookBackMs, maxNew);
    const isNew = ids.some((id) => !seen.has(id));
    seen = new Set(ids);
    if (isNew) wake();
  }

  return createPoll(clock, readMs, read, (error) =>
    log.warn(failureFields(error), 'new batches could not be looked for; trying again'),
  );
}

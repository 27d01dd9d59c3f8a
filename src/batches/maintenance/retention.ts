import { createTimeBounds, hourMs, sleep } from '../../base/clock.ts';
import type { Service } from '../../base/service.ts';
import { type Batch, endedAt } from '../../core/batch.ts';
import { isDatabaseOutage } from '../../core/database-fault.ts';
import type { Duties } from '../../core/duties.ts';
import type { BatchStore } from '../../store/contract/batches.ts';
import type { BatchContext } from '../batch-context.ts';

/** Delay of the first round after start-up, and interval of the rounds. */
const firstMs = 60_000;
const everyMs = hourMs;
/** Batches that one statement reads. */
const pageSize = 100;
/** Pause after a removal and after a page, so that other statements come between. */
const pauseMs = 20;

export interface RetentionDeps extends Pick<BatchContext, 'clock' | 'time' | 'log'> {
  store: { batches: Pick<BatchStore, 'listAll'> };
  /** The holder removes. */
  duties: Pick<Duties, 'isHolder'>;
  /** Milliseconds that a batch is kept after its end. */
  keepMs: number;
  /** Removes a finished batch with its files. Its bills remain. */
  remove: (batch: Batch) => Promise<void>;
}

/** Removes batches some time after their end, oldest first, every hour. */
export function createRetention({ store, clock, time, log, duties, keepMs, remove }: RetentionDeps): Service {
  // A lower bound, because a removal by a wrong clock cannot be undone.
  const bounds = createTimeBounds(time);
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  const mayRun = () => !stopping.signal.aborted && duties.isHolder();

  async function removeOld(): Promise<number> {
    const before = bounds.earliest() - keepMs;
    let removed = 0;
    for (let after: string | undefined; mayRun();) {
      const page = await store.batches.listAll({
        createdBefore: before,
        order: 'asc',
        limit: pageSize,
        after,
      });
      for (const batch of page) {
        if (!mayRun()) break;
        if ((endedAt(batch) ?? before) >= before) continue;
        try {
          await remove(batch);
          removed++;
        } catch (error) {
          // One that fails does not keep the others.
          if (isDatabaseOutage(error)) throw error;
          log.warn({ err: error, batch: batch.id }, 'an old batch could not be removed; trying again later');
        }
        await sleep(clock, pauseMs, stopping.signal);
      }
      if (page.length < pageSize) break;
      after = page.at(-1)!.id;
      await sleep(clock, pauseMs, stopping.signal);
    }
    return removed;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const removed = await removeOld();
        if (removed > 0) log.info({ removed }, 'removed old batches');
      } catch (error) {
        log.warn({ err: error }, 'old batches could not be removed; trying again later');
      }
      await sleep(clock, everyMs, stopping.signal);
    }
  }

  return {
    start() {
      running = sleep(clock, firstMs, stopping.signal).then(run);
      return Promise.resolve();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

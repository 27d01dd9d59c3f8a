import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createPoll } from '../base/poll.ts';
import type { Service } from '../base/service.ts';
import type { Duties } from '../core/duties.ts';
import { failureFields } from '../core/retry-log.ts';
import type { DutyStore } from '../store/contract/duties.ts';

const renewMs = 5_000;
/** A dead holder is followed after this time and an interval of renewal. */
const lifeMs = 20_000;
/** A holder stops this long before its lease ends. */
const marginMs = 5_000;

export interface DutiesDeps {
  store: { duties: DutyStore };
  clock: Pick<Clock, 'after' | 'monotonic'>;
  log: Log;
  /** Id of this process. */
  worker: string;
  /** False while the duties are left to processes of another role. */
  mayTake: () => boolean;
}

/** Lease on the duties of an installation with several processes. */
export function createDuties({ store, clock, log, worker, mayTake }: DutiesDeps): Duties & Service {
  let atRisk: ReadonlySet<string> = new Set();
  let heldUntil = Number.NEGATIVE_INFINITY;
  let isStopped = false;

  async function renew(): Promise<void> {
    // The lease counts from the sending, because the time of the write is unknown.
    const sentAt = clock.monotonic();
    const isWilling = !isStopped && mayTake();
    const wasHolder = heldUntil > sentAt;
    if (!isWilling) heldUntil = Number.NEGATIVE_INFINITY;
    const held = await store.duties.hold(worker, { lifeMs, mayTake: isWilling, atRisk: [...atRisk] });
    heldUntil = held.isHolder ? sentAt + lifeMs - marginMs : Number.NEGATIVE_INFINITY;
    if (held.isHolder && !wasHolder) log.info({}, 'This process does the periodic work of all processes.');
    if (!held.isHolder) atRisk = new Set(held.atRisk);
  }

  const poll = createPoll(clock, renewMs, renew, (error) =>
    log.warn(failureFields(error), 'the lease on the periodic work could not be renewed; trying again'),
  );

  return {
    isHolder: () => clock.monotonic() < heldUntil,
    get atRisk() {
      return atRisk;
    },
    reportAtRisk: (models) => void (atRisk = models),
    start: () => poll.start(),
    async stop() {
      if (isStopped) return;
      isStopped = true;
      await poll.stop();
      // Otherwise the lease lapses.
      await renew().catch(() => {});
    },
  };
}

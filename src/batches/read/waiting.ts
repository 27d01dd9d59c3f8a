import type { Accounts } from '../../accounts/accounts.ts';
import { isoSeconds } from '../../base/clock.ts';
import { type Batch, isFinal, linesLeft } from '../../core/batch.ts';
import type { BatchPause } from '../../core/controls.ts';
import { familyOf } from '../../core/key-family.ts';
import { type Waiting, toWaiting } from '../../core/waiting.ts';
import type { Catalog } from '../../core/model.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Peers } from '../../inference/peers.ts';
import type { Controls } from '../../operator/controls.ts';
import type { MissingModels } from '../missing-models.ts';
import type { OpenHours } from '../open-hours.ts';

/** Reasons for which a batch may wait, as far as this process knows. */
export interface WaitSources {
  /** Reason why an org or a family of keys may not spend. */
  budget: (orgId: string, family: string) => Waiting | null;
  /** Reason why the stored data of a batch is unavailable. */
  storage: (batchId: string) => Waiting | null;
  /** Pause by an operator of an org's requests to a model; of all orgs for null. */
  pausing: (orgId: string | null, model: string) => Waiting | null;
  /** Reason why no requests of a model are sent. @param priced names of models that may answer instead; any if absent */
  waiting: (model: string, priced?: readonly string[]) => Waiting | null;
  /** Number of further requests that may be sent to a model now. */
  room: (model: string) => number;
  /** True if lines of a batch were in flight at this process in the last seconds. */
  hasJustRun: (batchId: string) => boolean;
}

/** Models that the requests of a batch name. */
export function namedModels({ prices }: Batch): string[] {
  return Object.keys(prices).filter((model) => !prices[model]!.isFallback);
}

/**
 * Reason why a batch makes no progress: paused, storage, budget, its first paused or unavailable model, or a queue for slots.
 * Null if some of its lines can be sent or are in flight to an available model, or were a moment ago: between two turns, a batch that
 * shares slots makes progress.
 * @param inFlight lines sent and not answered
 */
export function findWaiting(
  batch: Batch,
  inFlight: number,
  { budget, storage, pausing, waiting, room, hasJustRun }: WaitSources,
): Waiting | null {
  const { status, closing, pausedAt } = batch;
  if (isFinal(status)) return null;
  const noStorage = storage(batch.id);
  // A closing batch only has its files to write.
  if (closing !== null) return noStorage;
  if (pausedAt !== null)
    return { reason: 'paused', message: 'The batch is paused until it is resumed.', since: pausedAt };
  if (noStorage) return noStorage;
  const noBudget = budget(batch.orgId, familyOf(batch));
  if (noBudget) {
    const message = `${noBudget.message} The batch expires at ${isoSeconds(batch.expiresAt)}.`;
    return { ...noBudget, message, since: Math.max(noBudget.since, batch.createdAt) };
  }
  const models = namedModels(batch);
  const priced = Object.keys(batch.prices);
  const causes = models.flatMap((model) => pausing(batch.orgId, model) ?? waiting(model, priced) ?? []);
  // Unsent lines of other processes count as in flight, which means nothing if all models are unavailable.
  if (causes[0] && (inFlight <= 0 || causes.length === models.length))
    return { ...causes[0], since: Math.max(causes[0].since, batch.createdAt) };
  const isIdle = inFlight <= 0 && linesLeft(batch) > 0 && models.length > 0;
  if (!isIdle || models.some((model) => room(model) > 0) || hasJustRun(batch.id)) return null;
  const since = batch.inProgressAt ?? batch.createdAt;
  return { reason: 'queued', message: 'All slots of the model are in use.', since };
}

/** Lines that were running when their processes died wait to be tried alone. */
export function crashSuspected({ inProgressAt, createdAt }: Batch): Waiting {
  const message =
    'The server crashed more than once while these requests were running. They run again one at a time, ' +
    'on a process that has been up for a minute.';
  return { reason: 'crash_suspected', message, since: inProgressAt ?? createdAt };
}

function toPausedWaiting({ model, orgId, since }: BatchPause): Waiting {
  const ofModel = model === null ? '' : ` of the model '${model}'`;
  const lines = orgId === null ? `all batches${ofModel}` : `the org's batches${ofModel}`;
  const message = `The operator of the server has paused ${lines} since ${isoSeconds(since)}.`;
  return { reason: 'paused', message, since };
}

export interface WaitSourcesDeps {
  storage: WaitSources['storage'];
  hasJustRun: WaitSources['hasJustRun'];
  budgets: Pick<Accounts['budgets'], 'waiting'>;
  controls: Pick<Controls, 'pausing'>;
  catalog: Catalog;
  capacity: Pick<Capacity, 'room' | 'waiting'>;
  peers: Pick<Peers, 'idOf' | 'isAvailableElsewhere' | 'waitingElsewhere'>;
  missing: Pick<MissingModels, 'waiting'>;
  hours: Pick<OpenHours, 'waiting'>;
}

/** Wait reasons across processes: a model waits only if no process sends its requests. */
export function createWaitSources(deps: WaitSourcesDeps): WaitSources {
  const { storage, hasJustRun, budgets, controls, catalog, capacity, peers, missing, hours } = deps;
  const causeOf = (name: string, priced?: readonly string[]) =>
    catalog.find(name) ? capacity.waiting(catalog.idOf(name), priced) : peers.waitingElsewhere(name);
  return {
    storage,
    hasJustRun,
    budget: (orgId, family) => budgets.waiting(orgId, family),
    pausing(orgId, name) {
      const pause = controls.pausing(orgId, peers.idOf(name));
      return pause && toPausedWaiting(pause);
    },
    waiting(name, priced) {
      const cause =
        missing.waiting(name) ?? (peers.isAvailableElsewhere(name) ? null : causeOf(name, priced));
      return hours.waiting(name) ?? (cause && toWaiting(cause));
    },
    room(name) {
      const id = catalog.idOf(name);
      const isHere = catalog.find(name) !== undefined && capacity.waiting(id) === null;
      // The room of peers is unknown.
      return !isHere && peers.isAvailableElsewhere(name) ? Number.POSITIVE_INFINITY : capacity.room(id);
    },
  };
}

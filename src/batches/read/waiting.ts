import type { Accounts } from '../../accounts/accounts.ts';
import { type Batch, isFinal } from '../../core/batch.ts';
import { type Waiting, toWaiting } from '../../core/waiting.ts';
import type { Catalog } from '../../core/model.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Peers } from '../../inference/peers.ts';
import type { MissingModels } from '../missing-models.ts';
import type { OpenHours } from '../open-hours.ts';

/** What a batch may wait for, as far as this process knows. */
export interface WaitSources {
  /** Why an org may spend nothing more. */
  budget: (orgId: string) => Waiting | null;
  /** What a batch cannot read or write at present. */
  storage: (batchId: string) => Waiting | null;
  /** Why no requests of a model are sent, by its name. @param priced those that may answer in its place */
  waiting: (model: string, priced: readonly string[]) => Waiting | null;
  /** How many more requests of a model may be sent now. */
  room: (model: string) => number;
}

/** Those that its requests name. */
export function namedModels({ prices }: Batch): string[] {
  return Object.keys(prices).filter((model) => !prices[model]!.isFallback);
}

/**
 * Why nothing of a batch goes on at present: it is paused; or its files cannot be used; or its org may spend nothing more; or
 * no requests of its models are sent, of which the first is told; or others have all places. Null where something of it may be
 * sent, or was to a model that takes requests.
 * @param inFlight its requests that were sent and not answered
 */
export function findWaiting(
  batch: Batch,
  inFlight: number,
  { budget, storage, waiting, room }: WaitSources,
): Waiting | null {
  const { status, closing, pausedAt, total, ok, err } = batch;
  if (isFinal(status)) return null;
  const noStorage = storage(batch.id);
  // Whoever closes it has its files to write.
  if (closing !== null) return noStorage;
  if (pausedAt !== null)
    return { reason: 'paused', message: 'The batch is paused until it is resumed.', since: pausedAt };
  if (noStorage) return noStorage;
  const noMoney = budget(batch.orgId);
  if (noMoney) return { ...noMoney, since: Math.max(noMoney.since, batch.createdAt) };
  const models = namedModels(batch);
  const causes = models.flatMap((model) => waiting(model, Object.keys(batch.prices)) ?? []);
  // What other processes hold unsent counts as in flight: of models that all wait it tells nothing.
  if (causes[0] && (inFlight <= 0 || causes.length === models.length))
    return { ...causes[0], since: Math.max(causes[0].since, batch.createdAt) };
  const isQueued =
    inFlight <= 0 && ok + err < total && models.length > 0 && models.every((model) => room(model) <= 0);
  if (!isQueued) return null;
  const since = batch.inProgressAt ?? batch.createdAt;
  return { reason: 'queued', message: 'Other requests have all places of the model.', since };
}

/** What was running when its processes died waits for its turn to be tried alone. */
export function crashSuspected({ inProgressAt, createdAt }: Batch): Waiting {
  const message =
    'The server died more than once while these requests were running. They are tried again one at a time, ' +
    'by a process that has lived for a minute.';
  return { reason: 'crash_suspected', message, since: inProgressAt ?? createdAt };
}

export interface WaitSourcesDeps {
  storage: WaitSources['storage'];
  budgets: Pick<Accounts['budgets'], 'waiting'>;
  catalog: Catalog;
  capacity: Pick<Capacity, 'room' | 'waiting'>;
  peers: Pick<Peers, 'isAvailableElsewhere' | 'waitingElsewhere'>;
  missing: Pick<MissingModels, 'waiting'>;
  hours: Pick<OpenHours, 'waiting'>;
}

/** What batches may wait for: a model waits only where neither this process nor another one sends its requests. */
export function createWaitSources({
  storage,
  budgets,
  catalog,
  capacity,
  peers,
  missing,
  hours,
}: WaitSourcesDeps): WaitSources {
  const causeOf = (name: string, priced: readonly string[]) =>
    catalog.find(name) ? capacity.waiting(catalog.idOf(name), priced) : peers.waitingElsewhere(name);

  return {
    storage,
    budget: (orgId) => budgets.waiting(orgId),
    waiting(name, priced) {
      const cause =
        missing.waiting(name) ?? (peers.isAvailableElsewhere(name) ? null : causeOf(name, priced));
      return hours.waiting(name) ?? (cause && toWaiting(cause));
    },
    room(name) {
      const id = catalog.idOf(name);
      const isHere = catalog.find(name) !== undefined && capacity.waiting(id) === null;
      // Nobody here knows how much room others have.
      return !isHere && peers.isAvailableElsewhere(name) ? Number.POSITIVE_INFINITY : capacity.room(id);
    },
  };
}

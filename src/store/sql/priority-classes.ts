import { type Words, words } from '../../base/words.ts';
import type { StoreOperations } from './sql-store.ts';

/**
 * Priority classes of store operations. A process without a timely heartbeat loses its leases, and one that cannot record results
 * stops sending, so neither may queue behind a thousand requests.
 *
 * `beat`: heartbeat, one row. `record`: results, one group at a time. `engine`: other work of the batch engine. `request`: operations
 * for clients. `scan`: reads of many rows, in slices, each after all waiting operations of the other classes.
 */
export type PriorityClass = 'beat' | 'record' | 'engine' | 'request' | 'scan';

export type Group = Exclude<keyof StoreOperations, 'ping' | 'scrub'>;

const inLane =
  <L extends PriorityClass>(name: L) =>
  <S extends string>(names: S) =>
    Object.fromEntries(words(names).map((operation) => [operation, name])) as Record<Words<S>, L>;

const requests = inLane('request');
const engine = inLane('engine');
const scan = inLane('scan');

/** Priority class of every operation; the type makes it complete. */
export const operations: {
  readonly [G in Group]: Readonly<Record<keyof StoreOperations[G], PriorityClass>>;
} = {
  installation: requests('id claim'),
  orgs: { ...requests('insert get list names update'), ...engine('disabled budgets noteUsedUp') },
  keys: requests('insert findByHashes get list names update rotate revoke touch'),
  sessions: requests('insert findByHashes remove'),
  actions: { ...requests('create get'), ...engine('claim advance release end removeEnded') },
  audit: requests('append list'),
  files: requests(
    'insert get find list remove removeExpired referencedBlobs sums newestBlobs removedBlobs forgetRemoved',
  ),
  batches: {
    ...requests(
      'create get find snapshot list remove cancel pause resume setPriority queuePlace queued minKills',
    ),
    ...engine('expire fail markAtRisk hurry moveWindows reopen states listOpen listRunning openLines'),
    ...engine('snapshots findMany listChanging removedSince createdSince elsewhere'),
    ...engine('claim claimClosings release split closeGate publish'),
    ...scan('listAll search countByStatus'),
  },
  histories: { ...requests('get'), ...engine('put') },
  results: {
    record: 'record',
    ...engine('recordMissing missing leftovers purge'),
    ...requests('tail errorSummary ofLines inFlight'),
    ...scan('marks'),
  },
  requests: { ...requests('create results end'), ...engine('bodies ended forget') },
  responses: requests('insert get idOf chain sizes texts finish abandoned remove removeExpired'),
  conversations: requests(
    'insert get update append items sizes positionOf item texts removeItem remove removeExpired',
  ),
  chats: {
    ...requests('insert get messages messagesBytes list read update remove removeExpired'),
    ...scan('search'),
  },
  workers: {
    beat: 'beat',
    ...requests('hasFirstVersion list'),
    ...engine('leaseSlots missingModels leases reap leave clear finishUpgrade'),
  },
  duties: engine('hold'),
  ledger: {
    ...requests('add forSources'),
    ...scan('usage'),
    ...engine('addToSums rollUp forgetWriters newest'),
  },
  controls: { ...engine('read'), ...requests('pause resume drain undrain cap uncap') },
  limits: { ...engine('share removeUnused'), ...requests('read') },
  storage: requests('stored'),
  webhooks: requests(
    'insert get list update rotate secrets replaceSecrets remove deliveries replay addClaimed claim finish release waiting removeDeliveries',
  ),
};

/** Builds all operations of a store with `make`. */
export function eachOperation(
  make: (group: Group, name: string, lane: PriorityClass) => unknown,
): Pick<StoreOperations, Group> {
  return Object.fromEntries(
    Object.entries(operations).map(([group, lanes]) => [
      group,
      Object.fromEntries(
        Object.entries(lanes).map(([name, lane]: [string, PriorityClass]) => [
          name,
          make(group as Group, name, lane),
        ]),
      ),
    ]),
  ) as unknown as Pick<StoreOperations, Group>;
}

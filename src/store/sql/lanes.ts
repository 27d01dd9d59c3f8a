import type { StoreOperations } from './sql-store.ts';

/**
 * Who waits for whom. A process that cannot say in time that it is alive loses all it has in hand, and one that cannot
 * record what it paid for soon stops sending; neither may stand behind a thousand requests.
 *
 * `beat`: saying "alive"; touches one row and waits for nobody. `record`: answers of engines, one group at a time.
 * `engine`: whatever else the batch engine does by itself. `request`: what somebody asked for.
 */
export type Lane = 'beat' | 'record' | 'engine' | 'request';

export type Group = Exclude<keyof StoreOperations, 'ping' | 'scrub'>;

/** Every operation by name, and its lane; the type makes it complete. */
export const operations: { readonly [G in Group]: Readonly<Record<keyof StoreOperations[G], Lane>> } = {
  installation: { id: 'request', claim: 'request' },
  orgs: { insert: 'request', get: 'request', list: 'request', update: 'request', budgets: 'engine' },
  keys: { insert: 'request', findByHash: 'request', list: 'request', revoke: 'request', touch: 'request' },
  files: {
    insert: 'request',
    get: 'request',
    find: 'request',
    list: 'request',
    remove: 'request',
    removeExpired: 'request',
    knownBlobs: 'request',
    newestBlobs: 'request',
    removedBlobs: 'request',
    forgetRemoved: 'request',
  },
  batches: {
    create: 'request',
    get: 'request',
    find: 'request',
    list: 'request',
    remove: 'request',
    cancel: 'request',
    expire: 'engine',
    fail: 'engine',
    atRisk: 'engine',
    moveWindows: 'engine',
    reopen: 'engine',
    states: 'engine',
    claim: 'engine',
    claimClosings: 'engine',
    pause: 'request',
    resume: 'request',
    release: 'engine',
    split: 'engine',
    open: 'engine',
    ahead: 'request',
    running: 'request',
    shut: 'engine',
    publish: 'engine',
  },
  results: {
    record: 'record',
    recordMissing: 'engine',
    missing: 'engine',
    tail: 'request',
    errorSummary: 'request',
    leftovers: 'engine',
    purge: 'engine',
  },
  responses: {
    insert: 'request',
    storedBytes: 'request',
    get: 'request',
    chain: 'request',
    sizes: 'request',
    texts: 'request',
    finish: 'request',
    renew: 'request',
    abandoned: 'request',
    remove: 'request',
    removeExpired: 'request',
  },
  conversations: {
    insert: 'request',
    get: 'request',
    update: 'request',
    append: 'request',
    items: 'request',
    sizes: 'request',
    placeOf: 'request',
    item: 'request',
    texts: 'request',
    removeItem: 'request',
    remove: 'request',
    removeExpired: 'request',
  },
  chats: {
    insert: 'request',
    get: 'request',
    messages: 'request',
    messagesBytes: 'request',
    list: 'request',
    read: 'request',
    update: 'request',
    remove: 'request',
    removeExpired: 'request',
  },
  workers: {
    beat: 'beat',
    leaseSlots: 'engine',
    missingModels: 'engine',
    leases: 'engine',
    reap: 'engine',
    leave: 'engine',
    clear: 'engine',
  },
  ledger: { add: 'request', of: 'request', ofMany: 'request' },
  webhooks: {
    insert: 'request',
    get: 'request',
    list: 'request',
    update: 'request',
    rotate: 'request',
    remove: 'request',
    deliveries: 'request',
    replay: 'request',
    addClaimed: 'request',
    claim: 'request',
    finish: 'request',
    release: 'request',
    removeDeliveries: 'request',
  },
};

/** The operations of a store, each made by `make` from its group, name and lane. */
export function eachOperation(
  make: (group: Group, name: string, lane: Lane) => unknown,
): Pick<StoreOperations, Group> {
  return Object.fromEntries(
    Object.entries(operations).map(([group, lanes]) => [
      group,
      Object.fromEntries(
        Object.entries(lanes).map(([name, lane]: [string, Lane]) => [name, make(group as Group, name, lane)]),
      ),
    ]),
  ) as unknown as Pick<StoreOperations, Group>;
}

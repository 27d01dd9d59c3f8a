import type { Service } from '../../base/service.ts';
import type { Db } from '../db.ts';
import type { Store } from '../store.ts';
import { createActions } from './batches/actions.ts';
import { createAuditLog } from './accounts/audit.ts';
import { createBatchRows } from './batches/batches.ts';
import { createChats } from './responses/chats.ts';
import { createClaiming } from './batches/claiming/claim.ts';
import { createChunks } from './batches/chunks.ts';
import { createControls } from './controls.ts';
import { createDeliveries } from './webhooks/deliveries.ts';
import { createConversations } from './responses/conversations.ts';
import { createListAll } from './batches/reading/list-all.ts';
import { createEnding } from './batches/recording/ending.ts';
import { createFiles } from './files.ts';
import { createInstallation } from './installation.ts';
import { createKeys } from './accounts/keys.ts';
import { createLedger } from './accounts/ledger.ts';
import { createLimits } from './limits.ts';
import { createOrgs } from './accounts/orgs.ts';
import { createPlaces } from './batches/claiming/places.ts';
import { createQueuedWork } from './batches/queued-work.ts';
import { createSnapshots } from './batches/reading/snapshots.ts';
import { createHistories } from './batches/histories.ts';
import { createWatching } from './batches/reading/watching.ts';
import { createRecording } from './batches/recording/record.ts';
import { createReopening } from './batches/claiming/reopen.ts';
import { createRequests } from './batches/requests.ts';
import { createResponses } from './responses/responses.ts';
import { createSessions } from './accounts/sessions.ts';
import { createStorage } from './storage.ts';
import { createResults } from './batches/reading/results.ts';
import { createWebhooks } from './webhooks/webhooks.ts';
import { createDuties } from './workers/duties.ts';
import { createWorkers } from './workers/workers.ts';

/** Operations of a store, without opening and closing. */
export type StoreOperations = Omit<Store, keyof Service>;

export function createSqlStore(db: Db): StoreOperations {
  return {
    installation: createInstallation(db),
    orgs: createOrgs(db),
    keys: createKeys(db),
    sessions: createSessions(db),
    actions: createActions(db),
    audit: createAuditLog(db),
    files: createFiles(db),
    batches: {
      ...createBatchRows(db),
      ...createChunks(db),
      ...createClaiming(db),
      ...createEnding(db),
      ...createPlaces(db),
      ...createListAll(db),
      ...createQueuedWork(db),
      ...createReopening(db),
      ...createSnapshots(db),
      ...createWatching(db),
    },
    histories: createHistories(db),
    results: { ...createRecording(db), ...createResults(db) },
    requests: createRequests(db),
    responses: createResponses(db),
    conversations: createConversations(db),
    chats: createChats(db),
    workers: createWorkers(db),
    duties: createDuties(db),
    controls: createControls(db),
    ledger: createLedger(db),
    webhooks: { ...createWebhooks(db), ...createDeliveries(db) },
    limits: createLimits(db),
    storage: createStorage(db),
    async ping() {
      // Locks no row, and fails where the database takes no writes.
      await db.all(`SELECT id FROM installation WHERE 1 = 0 ${db.forUpdate}`);
      return db.now();
    },
    scrub: () => db.scrub(),
  };
}

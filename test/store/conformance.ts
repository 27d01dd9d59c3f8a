import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { actionTests } from './conformance/actions.ts';
import { auditTests } from './conformance/audit.ts';
import { allBatchesTests } from './conformance/all-batches.ts';
import { batchTests } from './conformance/batches.ts';
import { budgetTests } from './conformance/budgets.ts';
import { chatTests } from './conformance/chats.ts';
import { chunkTests } from './conformance/chunks.ts';
import { closingTests } from './conformance/closing.ts';
import { controlTests } from './conformance/controls.ts';
import { conversationTests } from './conformance/conversations.ts';
import { creationTests } from './conformance/creations.ts';
import { endingTests } from './conformance/ending.ts';
import { fileTests } from './conformance/files.ts';
import { installationTests } from './conformance/installation.ts';
import { keyFamilyTests } from './conformance/key-families.ts';
import { keyTests } from './conformance/keys.ts';
import { ledgerTests } from './conformance/ledger.ts';
import { limitTests } from './conformance/limits.ts';
import { placeTests } from './conformance/places.ts';
import { queueTests } from './conformance/queue.ts';
import { queuedWorkTests } from './conformance/queued-work.ts';
import { recordTests } from './conformance/record.ts';
import { sessionTests } from './conformance/sessions.ts';
import { requestTests } from './conformance/requests.ts';
import { responseTests } from './conformance/responses.ts';
import { usageSumTests } from './conformance/usage-sums.ts';
import { watchingTests } from './conformance/watching.ts';
import { webhookTests } from './conformance/webhooks.ts';
import { workerTests } from './conformance/workers.ts';

/** Database under test. */
export interface Backend {
  /** Started store. */
  store: Store;
  /** Store of another process on the same database; the same store where only one process may open it. */
  other: Store;
  /** Empties the database. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Stores of one test group, available once a test runs. */
export interface Stores {
  store: Store;
  other: Store;
  reset(): Promise<void>;
}

/** Defines the store contract: every operation and every rule, run against each database. */
export function storeConformance(name: string, open: () => Promise<Backend>): void {
  describe(name, () => {
    let backend: Backend;
    const stores = {
      get store() {
        return backend.store;
      },
      get other() {
        return backend.other;
      },
      reset: () => backend.reset(),
    };
    beforeAll(async () => {
      backend = await open();
    });
    beforeEach(() => backend.reset());
    afterAll(() => backend?.close());

    test('answers a ping', async () => {
      const { now } = await stores.store.workers.beat('w', { interactive: {}, serves: [] });
      expect(await stores.store.ping()).toBeGreaterThanOrEqual(now);
    });

    installationTests(stores);
    keyTests(stores);
    sessionTests(stores);
    keyFamilyTests(stores);
    auditTests(stores);
    fileTests(stores);
    creationTests(stores);
    batchTests(stores);
    allBatchesTests(stores);
    watchingTests(stores);
    chunkTests(stores);
    placeTests(stores);
    queueTests(stores);
    queuedWorkTests(stores);
    recordTests(stores);
    endingTests(stores);
    closingTests(stores);
    requestTests(stores);
    responseTests(stores);
    controlTests(stores);
    conversationTests(stores);
    chatTests(stores);
    webhookTests(stores);
    limitTests(stores);
    workerTests(stores);
    actionTests(stores);
    ledgerTests(stores);
    usageSumTests(stores);
    budgetTests(stores);
  });
}

import type { Service } from '../base/service.ts';
import type { KeyStore, LedgerStore, OrgStore } from './contract/accounts.ts';
import type { BatchStore } from './contract/batches.ts';
import type { ChatStore } from './contract/chats.ts';
import type { ConversationStore } from './contract/conversations.ts';
import type { FileStore } from './contract/files.ts';
import type { ResponseStore } from './contract/responses.ts';
import type { ResultStore } from './contract/results.ts';
import type { WebhookStore } from './contract/webhooks.ts';
import type { WorkerStore } from './contract/workers.ts';

/**
 * What Offpeak remembers, grouped by noun. One suite, `test/store/conformance.ts`, defines it for every database.
 *
 * Policy lives in the callers; the database only excludes, orders and remembers (batch-engine.md). Every operation is
 * one message and at most one transaction; arguments and results survive a structured clone, so a store may live in a
 * worker thread. Instants are epoch milliseconds passed in by the caller, except where `beat` answers with the
 * database's own time. Expected outcomes are values; only faults of the database throw:
 * a `StoreError` where an operator can help, an `ApiError` `insufficient_storage` where the disk is full. An operation
 * that gets no answer rejects with `unreachable` after about a minute; it may then have happened or happen still.
 */
export interface Store extends Service {
  installation: InstallationStore;
  orgs: OrgStore;
  keys: KeyStore;
  files: FileStore;
  batches: BatchStore;
  results: ResultStore;
  responses: ResponseStore;
  conversations: ConversationStore;
  chats: ChatStore;
  workers: WorkerStore;
  ledger: LedgerStore;
  webhooks: WebhookStore;
  /** Resolves with the database's time when it answers a trivial query. */
  ping(): Promise<number>;
  /** Sees that nothing of deleted rows is left in the embedded database's files; to be called now and then. */
  scrub(): Promise<void>;
}

/** Which installation this database is of: the folder of its blobs bears the same id. */
export interface InstallationStore {
  /** Undefined until it was claimed. */
  id(): Promise<string | undefined>;
  /** Gives the database this id unless it has one, and answers with the one it has. */
  claim(id: string, now: number): Promise<string>;
}

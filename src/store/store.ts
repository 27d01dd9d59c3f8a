import type { Service } from '../base/service.ts';
import type { KeyStore, LedgerStore, OrgStore } from './contract/accounts.ts';
import type { ActionStore } from './contract/actions.ts';
import type { AuditStore } from './contract/audit.ts';
import type { BatchStore } from './contract/batches.ts';
import type { ChatStore } from './contract/chats.ts';
import type { ControlStore } from './contract/controls.ts';
import type { ConversationStore } from './contract/conversations.ts';
import type { DutyStore } from './contract/duties.ts';
import type { FileStore } from './contract/files.ts';
import type { HistoryStore } from './contract/histories.ts';
import type { LimitStore } from './contract/limits.ts';
import type { RequestStore } from './contract/requests.ts';
import type { ResponseStore } from './contract/responses.ts';
import type { ResultStore } from './contract/results.ts';
import type { SessionStore } from './contract/sessions.ts';
import type { StorageStore } from './contract/storage.ts';
import type { WebhookStore } from './contract/webhooks.ts';
import type { WorkerStore } from './contract/workers.ts';

/**
 * Persistent state, grouped by noun. `test/store/conformance.ts` specifies it for every database.
 *
 * Policy is in the callers. Every operation is one message and at most one transaction; arguments and results are structured-cloneable,
 * so that a store can run in a worker thread. Instants are epoch milliseconds from the caller, except the database's time that `beat`
 * returns. Expected outcomes are values. Database errors throw: a `StoreError` the operator can fix, an `ApiError`
 * `insufficient_storage` for a full disk. An operation without an answer rejects with `unreachable` after about a minute; it may have
 * happened, or still happen.
 */
export interface Store extends Service {
  installation: InstallationStore;
  orgs: OrgStore;
  keys: KeyStore;
  sessions: SessionStore;
  actions: ActionStore;
  audit: AuditStore;
  files: FileStore;
  batches: BatchStore;
  histories: HistoryStore;
  results: ResultStore;
  requests: RequestStore;
  responses: ResponseStore;
  conversations: ConversationStore;
  chats: ChatStore;
  workers: WorkerStore;
  duties: DutyStore;
  controls: ControlStore;
  ledger: LedgerStore;
  webhooks: WebhookStore;
  limits: LimitStore;
  storage: StorageStore;
  /** Answers a trivial query with the database's time. */
  ping(): Promise<number>;
  /** Overwrites remains of deleted rows in the files of the embedded database; to be called periodically. */
  scrub(): Promise<void>;
}

/** Installation id of the database; the blob folder has the same id. */
export interface InstallationStore {
  /** Undefined until claimed. */
  id(): Promise<string | undefined>;
  /** Sets the id unless there is one, and returns the current id. */
  claim(id: string, now: number): Promise<string>;
}

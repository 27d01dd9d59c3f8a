import type { Service } from '../base/service.ts';
import type {
  Batch,
  BatchEndpoint,
  BatchFault,
  BatchStatus,
  Chunk,
  FinalStatus,
  ResultStream,
} from '../core/batch.ts';
import type { ConversationItem, KeptConversation, Said } from '../core/conversation.ts';
import type { ChatQuery, KeptChat } from '../core/kept-chat.ts';
import type { SuspectRoom, Wish } from '../core/fair-choice.ts';
import type { FilePurpose, StoredFile } from '../core/file.ts';
import type { ApiKey, Org } from '../core/org.ts';
import type { StoredResponse } from '../core/response.ts';
import type { SlotAsk, SlotShare } from '../core/slot-leases.ts';
import type { Usage } from '../core/usage.ts';
import type { Delivery, DeliveryStatus, Webhook, WebhookEvent } from '../core/webhook.ts';

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

export interface OrgStore {
  insert(org: Org): Promise<void>;
  get(id: string): Promise<Org | undefined>;
  /** All, oldest first. */
  list(): Promise<Org[]>;
}

export interface KeyStore {
  /** @param hash SHA-256 of the whole key, lower-case hex; unique. Returns false when the hash is known already. */
  insert(key: ApiKey, hash: string): Promise<boolean>;
  findByHash(hash: string): Promise<ApiKey | undefined>;
  /** All keys, or one org's, oldest first. */
  list(orgId?: string): Promise<ApiKey[]>;
  /** Returns the key as it is now; revoking twice keeps the first instant. */
  revoke(id: string, at: number): Promise<ApiKey | undefined>;
  touch(uses: { id: string; at: number }[]): Promise<void>;
}

/**
 * What makes two creates the same one (api.md, section 1). `token` names the attempt: `k:<route>:<Idempotency-Key>`
 * (kept 24 h; another `bodyHash` is a mismatch) or `h:<route>:<key id>:<body hash>` (kept 10 minutes; two are twins only if
 * the later-started one has `retry` >= 1).
 */
export interface Creation {
  token: string;
  bodyHash: string;
  startedAt: number;
  /** `x-stainless-retry-count`, 0 when absent. */
  retry: number;
  ttlMs: number;
}

export type CreateOutcome =
  | { outcome: 'created' }
  | { outcome: 'replayed'; id: string }
  | { outcome: 'mismatch' };

export interface FileStore {
  /** Inserts the row (its blob is durable already) and remembers the creation, in one transaction. */
  insert(file: StoredFile, creation: Creation | undefined, now: number): Promise<CreateOutcome>;
  /** The file if it is the org's and not expired at `now`. */
  get(orgId: string, id: string, now: number): Promise<StoredFile | undefined>;
  /** The file even if it expired: a running batch keeps reading its input (reliability.md, F16). */
  find(id: string): Promise<StoredFile | undefined>;
  list(orgId: string, query: FileQuery): Promise<StoredFile[]>;
  /**
   * Removes the row unless an unfinished batch reads it, and forgets its creation: a retry makes it anew. The caller
   * removes the blob afterwards; until it says so with `forgetRemoved`, `removedBlobs` names it.
   */
  remove(
    orgId: string,
    id: string,
    now: number,
  ): Promise<{ outcome: 'removed'; file: StoredFile } | { outcome: 'missing' | 'in_use' }>;
  /** Removes up to `limit` expired files that no unfinished batch reads, as `remove` does. Sweeps old creations, too. */
  removeExpired(now: number, limit: number): Promise<StoredFile[]>;
  /** Those of `blobIds` that a file row names. */
  knownBlobs(blobIds: string[]): Promise<string[]>;
  /** The blobs of the newest files, at most so many. */
  newestBlobs(limit: number): Promise<string[]>;
  /** Blobs whose row was removed and of which nobody has said yet that they are gone. */
  removedBlobs(limit: number): Promise<string[]>;
  forgetRemoved(blobIds: string[]): Promise<void>;
}

export interface FileQuery {
  purpose?: FilePurpose;
  /** Starts behind this id in the given order, whether or not it still exists. */
  after?: string;
  order: 'asc' | 'desc';
  limit: number;
  now: number;
}

export type CreateBatchOutcome = CreateOutcome | { outcome: 'input_missing' } | { outcome: 'too_many_open' };

/** What a process needs to know of a batch it runs lines of. */
export interface BatchState {
  id: string;
  orgId: string;
  status: BatchStatus;
  closing: FinalStatus | null;
  due: number;
  pausedAt: number | null;
  acceptUntil: number;
  expiresAt: number;
  total: number;
  ok: number;
  err: number;
}

/** What a process may take of one model. */
export interface Wanted extends Wish {
  /** Under which the orgs' shares are counted. */
  model: string;
  /** What chunks may call it: its id and its aliases. */
  names: string[];
}

export interface ClaimOptions {
  now: number;
  suspects: SuspectRoom;
  /** Batches that are passed over. */
  except?: string[];
  /** Nothing of any other batch is taken. */
  only?: string[];
}

/** What must be known of a batch to run its lines. */
export interface ClaimedBatch extends Pick<Batch, 'id' | 'orgId' | 'endpoint' | 'due'> {
  /** Models whose prices it froze. */
  priced: string[];
  /** Of its input; null when that file is gone. */
  blobId: string | null;
}

export interface Claim {
  chunks: Chunk[];
  /** Those of the chunks. Empty where chunks are claimed to close their batches. */
  batches: ClaimedBatch[];
  /** Batches of which the database refused to give chunks out. They kept no other from being claimed. */
  faults: { batchId: string; message: string }[];
}

/** What tells whether a batch will end within its window. */
export type OpenBatch = Pick<
  Batch,
  | 'id'
  | 'orgId'
  | 'model'
  | 'due'
  | 'total'
  | 'ok'
  | 'err'
  | 'createdAt'
  | 'inProgressAt'
  | 'expiresAt'
  | 'pausedAt'
  | 'pausedMs'
  | 'atRiskAt'
>;

/** A lease on a chunk: valid while the stored epoch and owner are these. */
export interface Lease {
  batchId: string;
  seq: number;
  epoch: number;
}

export interface BatchStore {
  /**
   * Inserts the batch, its chunks (`ready`, seq from 1) and the held closing chunk (seq 0, model `#close`); with
   * `inlineFile` also that file row. `input_missing` when the input file row is gone, foreign, expired or not an input;
   * `too_many_open` when the org already has `maxOpen` unfinished batches. All or nothing.
   */
  create(
    batch: Batch,
    chunks: Chunk[],
    options: { inlineFile?: StoredFile; creation?: Creation; maxOpen: number; now: number },
  ): Promise<CreateBatchOutcome>;
  get(orgId: string, id: string): Promise<Batch | undefined>;
  /** Without an org, for the engine room. */
  find(id: string): Promise<Batch | undefined>;
  /** Newest first. */
  list(orgId: string, query: BatchQuery): Promise<Batch[]>;
  /** Removes the row of a batch whose results were purged. Its ledger stays. False where there is none. */
  remove(orgId: string, id: string): Promise<boolean>;
  /**
   * `undefined` for an unknown or foreign id; else the batch and whether this call began the cancelling. It does not once
   * the end is decided, even while the status is still `in_progress`: look at `closing`.
   */
  cancel(
    orgId: string,
    id: string,
    now: number,
    graceMs: number,
  ): Promise<{ began: boolean; batch: Batch } | undefined>;
  /**
   * Begins the end of up to `limit` batches whose `expiresAt` has come; returns their ids. One that the database refuses keeps
   * none of the others; it rejects where there were no others.
   */
  expire(now: number, limit: number): Promise<string[]>;
  /**
   * Begins the end of a batch with a fault of its own; answers in flight are taken for two more seconds. False when its
   * end was already decided.
   */
  fail(id: string, fault: BatchFault, now: number): Promise<boolean>;
  /** Tells of a batch that it will miss its window: once, and not when its end is decided. Whether it did. */
  atRisk(id: string, now: number): Promise<boolean>;
  /**
   * Moves what is to happen at some instant to unfinished batches by so many ms: their windows, their gates but those that
   * are shut, their urgency. Returns how many.
   */
  moveWindows(by: number): Promise<number>;
  /**
   * Makes the chunks of up to `limit` batches ready again of which lines have no result although no chunk is left: a database
   * that failed over to a copy behind it, or lost what it had confirmed, may have forgotten results of chunks that were
   * finished afterwards. A batch whose window is over is left to its end. Returns the batches.
   */
  reopen(now: number, limit: number): Promise<string[]>;
  states(ids: string[]): Promise<BatchState[]>;
  /**
   * Leases ready chunks of many batches at once, chosen as `chooseChunks` does: of each model the orgs that were given
   * least, of those the least `due`; inside a batch those with the fewest kills, then by seq. What an org was given is
   * counted in the database, so all processes share one fairness. Batches that were validating are in progress then.
   * The chunks' `lines` are those without a result; a chunk that has none left is finished on the spot and not returned.
   * `kills` tells a suspect. Less may come than there is, where it is just being written to; none comes where there is none.
   */
  claim(worker: string, wanted: Wanted[], options: ClaimOptions): Promise<Claim>;
  /** Leases the closing chunks of up to `count` batches whose end is decided, by `due`, but not of those in `except`. */
  claimClosings(worker: string, count: number, except?: string[]): Promise<Claim>;
  /** Nothing of the batch is claimed until it is resumed. False unless it was open and not paused. */
  pause(orgId: string, id: string, now: number): Promise<boolean>;
  /** False unless it was open and paused. */
  resume(orgId: string, id: string, now: number): Promise<boolean>;
  /** Gives chunks back unharmed: leased by `worker` with that epoch becomes ready. Returns how many. */
  release(worker: string, leases: Lease[]): Promise<number>;
  /** Replaces a leased suspect by one chunk a remaining line, ready, with the same `kills`. False when fenced. */
  split(worker: string, lease: Lease): Promise<boolean>;
  /** Batches whose end is not decided, by `due`. */
  open(limit: number): Promise<OpenBatch[]>;
  /** How many batches of its org that may still be claimed go before this one. */
  ahead(batch: Pick<Batch, 'id' | 'orgId' | 'due'>): Promise<number>;
  /** Lines claimed and not recorded yet. */
  running(id: string): Promise<number>;
  /** Shuts the gate of a batch that is closing: nothing is recorded any more but by `recordMissing`. False when fenced. */
  shut(worker: string, lease: Lease): Promise<boolean>;
  /**
   * The end: checks the lease, that every line has its result and that the ledger agrees; then writes the file rows, the
   * final status with its instant, the error summary and the event, and finishes the chunk. `incomplete` where they do not agree.
   *
   * With a `fault` the batch is given up: whatever agrees, it ends as failed with that fault, or as cancelled where it was
   * being cancelled.
   */
  publish(
    worker: string,
    lease: Lease,
    files: { output: StoredFile | null; errors: StoredFile | null },
    now: number,
    fault?: BatchFault,
  ): Promise<'published' | 'fenced' | 'incomplete'>;
}

export interface BatchQuery {
  after?: string;
  /** The page ends before this id instead: what is nearest to it, still newest first. */
  before?: string;
  limit: number;
  endpoint?: BatchEndpoint;
  status?: BatchStatus;
  /** Only those created at or after this instant. */
  createdAfter?: number;
}

/** How one line ended. `body` is the whole output or error line, without its newline. */
export interface LineResult {
  batchId: string;
  line: number;
  stream: ResultStream;
  body: Uint8Array;
  model: string;
  usage: Usage;
  attempts: number;
  /** The error code, or null for output lines. */
  code: string | null;
}

export interface RecordOutcome {
  batchId: string;
  /** Results written. The others were late twins or came after the gate. */
  kept: number;
  /** The batch takes no more results: drop its lines. */
  closed: boolean;
  /** It has the last of its results: it may be closed. */
  complete: boolean;
}

export interface ResultRow {
  /** Place in its stream, from 1, without gaps, in commit order. */
  n: number;
  line: number;
  body: Uint8Array;
}

/** At most so many rows; at least one, and none more once they hold so many bytes. */
export interface PageSize {
  rows: number;
  bytes: number;
}

export interface ErrorSummary {
  code: string;
  count: number;
  /** custom_id-free example: the message of the first such line. */
  example: string;
}

export interface ResultStore {
  /**
   * Records results and finishes chunks in one transaction, under each batch's row lock: the guard, the counter and the
   * sequence at once (batch-engine.md, "Recording"). First result of a line wins.
   */
  record(worker: string, results: LineResult[], finished: Lease[], now: number): Promise<RecordOutcome[]>;
  /** Lines of a closing batch that never got a result, as errors, fenced by the closing lease. False when fenced. */
  recordMissing(worker: string, lease: Lease, results: LineResult[], now: number): Promise<boolean>;
  /** Lines without a result from line `from` on, ascending. */
  missing(batchId: string, from: number, limit: number): Promise<number[]>;
  /** Rows behind `after` of one stream, in order. */
  tail(batchId: string, stream: ResultStream, after: number, most: PageSize): Promise<ResultRow[]>;
  /** Live from the rows, or as stored at the end. */
  errorSummary(batchId: string): Promise<ErrorSummary[]>;
  /** Finished batches whose rows still exist. */
  leftovers(limit: number): Promise<string[]>;
  /**
   * Deletes up to `limit` rows of results and chunks of a finished batch, from the front. True when none is left, false
   * when it has to be called again.
   */
  purge(batchId: string, limit: number): Promise<boolean>;
}

/** How an unfinished response ends. */
export type ResponseEnd = Pick<StoredResponse, 'status' | 'output' | 'body' | 'pieces'>;

/** A response without what it was asked. */
export type Answered = Omit<StoredResponse, 'input'>;

export interface ChainLimits {
  links: number;
  /** Of all that is said. */
  bytes: number;
}

export type ChainLink = Pick<StoredResponse, 'id' | 'status' | 'saidBytes'>;

export interface Chain {
  /** Newest first. */
  links: ChainLink[];
  /**
   * `whole` down to the first; `gone` where one is missing, expired or another org's; `long`, `large`: over a limit;
   * `conversation` where the last one was made in a conversation that is kept by itself.
   */
  end: 'whole' | 'gone' | 'long' | 'large' | 'conversation';
}

/** What a response was asked, and what it answered. */
export type ResponseSide = 'input' | 'output';

/** Bytes of all that is stored of an org's responses. */
export interface StoredBytes {
  orgId: string;
  bytes: number;
}

export interface ResponseStore {
  /**
   * All of them, and all that was said in conversations, or, when it rejects, none. Nothing is added to a conversation that
   * is gone. Returns what their orgs have stored now.
   */
  insert(responses: readonly StoredResponse[], said?: readonly Said[]): Promise<StoredBytes[]>;
  /** What an org has stored, conversations among it, and what has expired until it is swept. */
  storedBytes(orgId: string): Promise<number>;
  /** The response if it is the org's and not expired at `now`. */
  get(orgId: string, id: string, now: number): Promise<Answered | undefined>;
  /** The response and those it continues, without their texts; at most so many, holding at most so many bytes. */
  chain(orgId: string, id: string, now: number, most: ChainLimits): Promise<Chain>;
  /** Bytes of one side of responses by id; those that are missing, expired or another org's are left out. */
  sizes(orgId: string, side: ResponseSide, ids: string[], now: number): Promise<Record<string, number>>;
  /** JSON texts of one side of responses by id, likewise. */
  texts(orgId: string, side: ResponseSide, ids: string[], now: number): Promise<Record<string, string>>;
  /**
   * Ends an unfinished response, and adds to its conversation; the first end stays. False when it is finished or gone, and
   * then nothing is added.
   */
  finish(id: string, end: ResponseEnd, said?: Said): Promise<boolean>;
  /** Says that the process which makes these is alive. Returns those that are still to be made. */
  renew(ids: string[], aliveUntil: number): Promise<string[]>;
  /** Up to `limit` unfinished responses that nobody makes any more at `now`. */
  abandoned(now: number, limit: number): Promise<Answered[]>;
  /** False when there is no such response of the org. */
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` expired responses that are finished, and returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

export interface ItemPage {
  order: 'asc' | 'desc';
  limit: number;
  /** A place, of which the page has what is behind it. */
  after?: number;
}

/** Conversations that are kept by themselves. Each belongs to an org; one that has expired at `now` is not there. */
export interface ConversationStore {
  /** Returns what the org has stored now. */
  insert(
    conversation: Omit<KeptConversation, 'bytes'>,
    items: readonly ConversationItem[],
  ): Promise<StoredBytes[]>;
  get(orgId: string, id: string, now: number): Promise<KeptConversation | undefined>;
  update(
    orgId: string,
    id: string,
    metadata: string,
    now: number,
    expiresAt: number,
  ): Promise<KeptConversation | undefined>;
  /** What the org has stored then; undefined when the conversation is gone. */
  append(said: Said): Promise<StoredBytes[] | undefined>;
  /** The items of a conversation of which it is known whose it is. */
  items(id: string, page: ItemPage): Promise<ConversationItem[]>;
  /** Where an item stands. */
  placeOf(id: string, itemId: string): Promise<number | undefined>;
  item(id: string, itemId: string): Promise<string | undefined>;
  /** All items, as JSON texts, oldest first. */
  texts(id: string): Promise<string[]>;
  /** The conversation without the item; undefined when there is no such. */
  removeItem(orgId: string, id: string, itemId: string, now: number): Promise<KeptConversation | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` that have expired, and returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

/** A kept chat completion without what it was asked. */
export type AnsweredChat = Omit<KeptChat, 'messages'>;

/** Chat completions that are kept. One that has expired at `now` is not there. */
export interface ChatStore {
  /** Returns what the org has stored now. */
  insert(chat: KeptChat): Promise<StoredBytes[]>;
  get(orgId: string, id: string, now: number): Promise<AnsweredChat | undefined>;
  /** What it was asked, as JSON text. */
  messages(orgId: string, id: string, now: number): Promise<string | undefined>;
  list(orgId: string, query: ChatQuery, now: number): Promise<AnsweredChat[]>;
  update(orgId: string, id: string, metadata: string, now: number): Promise<AnsweredChat | undefined>;
  remove(orgId: string, id: string, now: number): Promise<boolean>;
  /** Removes up to `limit` that have expired, and returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

export interface WorkerLoad {
  /** Interactive calls in flight, by model id. */
  interactive: Record<string, number>;
  /** Names of the models it serves, aliases among them. Absent: a version that did not say so, which may serve any. */
  serves?: readonly string[];
}

/** A model that chunks name and no process alive serves. */
export interface MissingModel {
  model: string;
  since: number;
}

export interface WorkerStore {
  /** Says "alive". Answers with the database's time and the loads of the others alive. */
  beat(id: string, load: WorkerLoad): Promise<{ now: number; others: WorkerLoad[] }>;
  /**
   * The models of ready chunks that no process alive serves, each since it was first seen so. What nobody looked at for
   * minutes, because nobody was alive, begins anew.
   */
  missingModels(now: number): Promise<MissingModel[]>;
  /**
   * Leases slots to `id` for some seconds, by model (`core/slot-leases.ts`), and answers its share of each. What is not asked for again lapses.
   */
  leaseSlots(id: string, asks: Record<string, SlotAsk>, now: number): Promise<Record<string, SlotShare>>;
  /** What `id` has leased. */
  leases(id: string): Promise<Lease[]>;
  /** Takes chunks back from owners without a beat since `before` (kills + 1) and forgets them. Returns how many. */
  reap(before: number): Promise<number>;
  /** Gives everything back without counting a kill: a drain. */
  leave(id: string): Promise<void>;
  /** For the embedded database, which only one process opens: nobody else is alive. */
  clear(): Promise<void>;
}

/** Token sums of one (source, model, day). `sourceId` is a batch or a synchronous request. */
export interface LedgerRow {
  sourceId: string;
  orgId: string;
  model: string;
  /** UTC day, `2026-11-21`. */
  day: string;
  requests: number;
  usage: Usage;
  /** Nano-dollars for a synchronous request; null for batch rows, whose prices stand on the batch. */
  amount: number | null;
}

export interface LedgerStore {
  /** Rows of synchronous requests. A source already billed is not billed again. */
  add(rows: LedgerRow[]): Promise<void>;
  /** Rows of one batch or request. */
  of(sourceId: string): Promise<LedgerRow[]>;
  /** Rows of several batches at once, for lists. */
  ofMany(sourceIds: string[]): Promise<LedgerRow[]>;
}

/** A delivery that is leased to whoever claimed it, and what it takes to send it. */
export interface ClaimedDelivery extends Delivery {
  url: string;
  /** The newest first; an older one as long as it holds. */
  secrets: string[];
}

/** How an attempt ended. */
export interface AttemptOutcome {
  status: DeliveryStatus;
  /** The HTTP status of the answer, or null when none came. */
  answered: number | null;
  error: string | null;
  /** When `pending`, how long until the next one. */
  retryInMs?: number;
  /** Why the webhook is told nothing from now on. */
  disable?: string;
}

export interface PageQuery {
  /** Starts behind this id, whether or not it still exists. */
  after?: string;
  limit: number;
}

/**
 * Webhooks and what they are told. An event is written for every webhook that is there and wants it, in the transaction
 * in which it happens. Leases and times of attempts are in the database's time.
 */
export interface WebhookStore {
  /** False when the org has `most` already. */
  insert(webhook: Webhook, secret: string, most: number): Promise<boolean>;
  get(orgId: string, id: string): Promise<Webhook | undefined>;
  /** Newest first. */
  list(orgId: string, query: PageQuery): Promise<Webhook[]>;
  /** Whoever is disabled gives up what is still to be sent. Returns the webhook as it is then. */
  update(
    orgId: string,
    id: string,
    changes: Partial<Pick<Webhook, 'name' | 'url' | 'eventTypes' | 'disabledAt' | 'disabledReason'>>,
  ): Promise<Webhook | undefined>;
  /** The secret that was there holds until `oldUntil`; one that was older holds no more. */
  rotate(orgId: string, id: string, secret: string, oldUntil: number): Promise<Webhook | undefined>;
  /** With its deliveries. False when there is no such webhook of the org. */
  remove(orgId: string, id: string): Promise<boolean>;
  /** Of one webhook, newest first. */
  deliveries(orgId: string, webhookId: string, query: PageQuery): Promise<Delivery[]>;
  /** Makes a new delivery of the same event, due at once. `now` is when it was made. */
  replay(
    orgId: string,
    id: string,
    replay: { id: string; now: number },
  ): Promise<{ outcome: 'missing' } | { outcome: 'disabled' } | { outcome: 'added'; delivery: Delivery }>;
  /** Makes a delivery that is claimed already, also for a disabled webhook. */
  addClaimed(
    worker: string,
    orgId: string,
    webhookId: string,
    delivery: { id: string; event: WebhookEvent },
    leaseMs: number,
  ): Promise<ClaimedDelivery | undefined>;
  /**
   * Leases up to `limit` deliveries that are due, each one's attempt counted; at most `each` of one webhook, none of those
   * in `busy`, and of all webhooks the first before any second.
   */
  claim(
    worker: string,
    options: { leaseMs: number; limit: number; each: number; busy: string[] },
  ): Promise<ClaimedDelivery[]>;
  /** Writes down how an attempt ended. False when the delivery is not the worker's any more, or gone. */
  finish(
    worker: string,
    delivery: Pick<Delivery, 'id' | 'webhookId' | 'attempts'>,
    outcome: AttemptOutcome,
  ): Promise<boolean>;
  /** Makes what the worker holds due at once, or what anybody holds where it is null. Returns how many. */
  release(worker: string | null): Promise<number>;
  /** Removes up to `limit` deliveries made before that instant. Returns how many. */
  removeDeliveries(before: number, limit: number): Promise<number>;
}

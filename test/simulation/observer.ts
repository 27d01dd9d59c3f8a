import { sum } from '../../src/base/sum.ts';
import { type BatchStatus, canTransition, isFinal } from '../../src/core/batch.ts';
import { isGroup } from '../../src/core/request-group.ts';
import type { Lease } from '../../src/store/contract/claim.ts';
import { virtualEpoch } from '../support/virtual-clock.ts';
import { takeChanges } from './audit.ts';
import type { Database } from './database.ts';
import { clockTolerance, Fences } from './fences.ts';
import type { Operation } from './store-view.ts';

/** Facts about a process, for the observer. */
export interface Worker {
  readonly name: string;
  readonly alive: boolean;
  /** Time of its death in ms since the start; infinite while it lives. */
  readonly diedAt: number;
  /** Time of the last fault injected into it. */
  readonly troubledAt: number;
}

export interface BatchRow {
  id: string;
  status: BatchStatus;
  closing: string | null;
  accept_until: number;
  ok: number;
  err: number;
  total: number;
  expires_at: number;
  created_at: number;
  output_file_id: string | null;
  error_file_id: string | null;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelled_at: number | null;
  purged: number;
  org_id: string;
  input_file_id: string;
}

interface Books {
  ok: number;
  err: number;
  outputs: number;
  errors: number;
  most_output: number;
  most_errors: number;
  tokens: number;
  requests: number;
  billed: number;
}

const columns = `id, status, closing, accept_until, ok, err, total, expires_at, created_at, output_file_id, error_file_id,
  completed_at, failed_at, expired_at, cancelled_at, purged, org_id, input_file_id`;

const changing = new Set<Operation>([
  'batches.create',
  'requests.create',
  'batches.claim',
  'batches.claimClosings',
  'batches.cancel',
  'batches.expire',
  'batches.fail',
  'batches.closeGate',
  'batches.split',
  'batches.publish',
  'batches.reopen',
  'results.record',
  'results.recordMissing',
  'results.purge',
  'batches.release',
  'workers.reap',
  'workers.leave',
]);

/**
 * Checks the database after every operation that may change a batch, and reports violations. It does not look into the batch
 * engine.
 */
export class Observer {
  readonly violations: string[] = [];
  readonly workers = new Map<string, Worker>();
  /** Time of the first request for the batch of an input file. */
  readonly askedAt = new Map<string, number>();
  /** Time when the end of each batch was decided. */
  readonly decidedAt = new Map<string, number>();
  readonly fences = new Fences((what) => this.fail(what));
  #database: Database;
  #elapsed: () => number;
  #last: ReadonlyMap<string, BatchRow> = new Map();
  /** Batches that refused results after their window, whether or not any process has noted yet that they have expired. */
  readonly #over = new Set<string>();
  /** Number of writes already checked. */
  #seen = -1;

  constructor(database: Database, elapsed: () => number) {
    this.#database = database;
    this.#elapsed = elapsed;
  }

  /** True once `count` batches are finished and purged. */
  settled(count: number): boolean {
    if (this.#last.size < count) return false;
    for (const row of this.#last.values()) if (row.purged === 0) return false;
    return true;
  }

  /** True once the rows are purged, so that results are read from the files. */
  isCleared(id: string): boolean {
    return this.#last.get(id)?.purged === 1;
  }

  statusOf(id: string): BatchStatus | undefined {
    return this.#last.get(id)?.status;
  }

  /** Decided ending of the batch, or null. */
  endingOf(id: string): string | null {
    return this.#last.get(id)?.closing ?? null;
  }

  fail(what: string): void {
    this.violations.push(`${this.#elapsed()} ${what}`);
  }

  /** Checks an operation sent at `sentAt`; `result` is undefined if it failed. */
  async after(name: Operation, args: readonly unknown[], result: unknown, sentAt: number): Promise<void> {
    if (name === 'workers.beat' && result !== undefined)
      this.fences.beats.set(args[0] as string, virtualEpoch + this.#elapsed());
    if (!changing.has(name) || this.#database.db.writes === this.#seen) return;
    const before = this.#last;
    const now = virtualEpoch + this.#elapsed();
    const changes = await takeChanges(this.#database.db);
    if (name === 'results.record') this.#noteOver(args);
    if (changes.batches.size > 0) await this.#checkBatches(name, sentAt, now);
    for (const orgId of new Set([...changes.batches].map((id) => this.#last.get(id)?.org_id)))
      if (orgId !== undefined) await this.#judgeQueued(name, orgId);
    this.#seen = this.#database.db.writes;
    this.fences.judge({ name, args, result, changes, before, after: this.#last, sentAt, doneAt: now });
    for (const id of new Set(changes.results.map(({ batchId }) => batchId))) await this.#judgeBooks(name, id);
  }

  #askedAt({ input_file_id }: BatchRow, sentAt: number): number {
    const askedAt = this.askedAt.get(input_file_id);
    return (askedAt === undefined ? sentAt : virtualEpoch + askedAt) - clockTolerance;
  }

  async #checkBatches(by: Operation, sentAt: number, now: number): Promise<void> {
    const rows = await this.#database.db.all<BatchRow>(`SELECT ${columns} FROM batches`);
    for (const row of rows) {
      const last = this.#last.get(row.id);
      if (last) this.#compare(by, last, row);
      // The statement and the reads before it may have been in flight for long: a batch begins when its client requested it.
      else if (row.created_at < this.#askedAt(row, sentAt) || row.created_at > now + clockTolerance)
        this.fail(`${row.id} begins at ${row.created_at - virtualEpoch}`);
    }
    this.#last = new Map(rows.map((row) => [row.id, row]));
  }

  /** Counters, numbers and bill must match the results after every commit. */
  async #judgeBooks(by: Operation, id: string): Promise<void> {
    const [books] = await this.#database.db.all<Books>(
      `SELECT b.ok, b.err, r.outputs, r.errors, r.most_output, r.most_errors, r.tokens, l.requests, l.billed
       FROM batches b,
         (SELECT count(*) FILTER (WHERE stream = 'output') AS outputs,
            count(*) FILTER (WHERE stream = 'errors') AS errors,
            coalesce(max(n) FILTER (WHERE stream = 'output'), 0) AS most_output,
            coalesce(max(n) FILTER (WHERE stream = 'errors'), 0) AS most_errors,
            coalesce(sum(input_tokens + output_tokens) FILTER (WHERE stream = 'output'), 0) AS tokens
          FROM batch_results WHERE batch_id = ?) AS r,
         (SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(input_tokens + output_tokens), 0) AS billed
          FROM usage_ledger WHERE source_id = ?) AS l
       WHERE b.id = ?`,
      [id, id, id],
    );
    const { ok, err, outputs, errors, most_output, most_errors, tokens, requests, billed } = books!;
    // The bill of a group is that of its key.
    const isBilledAlone = !isGroup(id);
    if (outputs !== ok || errors !== err || most_output !== ok || most_errors !== err)
      this.fail(
        `${by}: ${id} counts ${ok}+${err}, holds ${outputs}+${errors}, numbered to ${most_output}+${most_errors}`,
      );
    if (isBilledAlone && (requests !== ok || billed !== tokens))
      this.fail(
        `${by}: ${id} bills ${requests} requests, ${billed} tokens for ${ok} outputs, ${tokens} tokens`,
      );
  }

  /** Notes the batches whose window was over for the process that recorded. */
  #noteOver([, results, finished, now]: readonly unknown[]): void {
    for (const { batchId } of [...(results as Lease[]), ...(finished as Lease[])])
      if (this.#last.get(batchId)!.accept_until <= (now as number)) this.#over.add(batchId);
  }

  /**
   * The use of the limits of an org must be its requests without a result, after every commit. A batch that is over may count requests
   * without tokens until a process decides its end, which takes as long as all are silent: its refused chunks are not run again.
   */
  async #judgeQueued(by: Operation, orgId: string): Promise<void> {
    const left = await this.#database.db.all<{ id: string; requests: number }>(
      `SELECT b.id, b.total - (SELECT count(*) FROM batch_results r WHERE r.batch_id = b.id) AS requests
       FROM batches b WHERE b.org_id = ? AND b.closing IS NULL`,
      [orgId],
    );
    const requestsOf = (rows: typeof left) => sum(rows.map(({ requests }) => requests));
    const all = requestsOf(left);
    const running = requestsOf(left.filter(({ id }) => !this.#over.has(id)));
    const { org } = await this.#database.store.batches.queued(orgId, '');
    const tokens = sum(Object.values(org.tokens));
    if (org.requests !== all) this.fail(`${by}: ${orgId} counts ${org.requests} queued requests, has ${all}`);
    if (tokens > 0 ? all === 0 : running > 0)
      this.fail(`${by}: ${orgId} counts ${tokens} queued tokens for ${running} of ${all} requests`);
  }

  /** A dead process may hold leases for at most a minute after its death or its last heartbeat to arrive. */
  async checkLeases(): Promise<void> {
    const rows = await this.#database.db.all<{ owner: string; batch_id: string; seq: number }>(
      "SELECT owner, batch_id, seq FROM batch_chunks WHERE state = 'leased'",
    );
    const hasHealthyWorker = [...this.workers.values()].some(
      (worker) => worker.alive && this.#elapsed() - worker.troubledAt > 60_000,
    );
    for (const { owner, batch_id, seq } of rows) {
      const worker = this.workers.get(owner);
      const beatAt = (this.fences.beats.get(owner) ?? 0) - virtualEpoch;
      if (!worker) this.fail(`${batch_id}/${seq} is leased by an unknown worker (${owner})`);
      else if (hasHealthyWorker && this.#elapsed() - Math.max(worker.diedAt, beatAt) > 60_000)
        this.fail(`${batch_id}/${seq} is still leased by ${worker.name}, which died at ${worker.diedAt}`);
    }
  }

  #compare(by: Operation, last: BatchRow, row: BatchRow): void {
    const tell = (what: string) => this.fail(`${by}: ${row.id} ${what}`);
    if (row.status !== last.status && !canTransition(last.status, row.status))
      tell(`went from ${last.status} to ${row.status}`);
    if (row.ok < last.ok || row.err < last.err)
      tell(`counts fell from ${last.ok}+${last.err} to ${row.ok}+${row.err}`);
    if (row.ok + row.err > row.total) tell(`has ${row.ok}+${row.err} results of ${row.total} lines`);
    if (last.closing !== null && row.closing !== last.closing)
      tell(`was to end as ${last.closing}, now as ${row.closing}`);
    if (isFinal(last.status) && !same(last, row)) tell(`changed after it was ${last.status}`);
    if (last.closing === null && row.closing !== null) {
      this.decidedAt.set(row.id, this.#elapsed());
      const early = row.expires_at - (virtualEpoch + this.#elapsed());
      if (row.closing === 'expired' && early > clockTolerance) tell(`expired ${early} ms too early`);
    }
  }
}

function same(a: BatchRow, b: BatchRow): boolean {
  return (Object.keys(a) as (keyof BatchRow)[]).every((key) => key === 'purged' || a[key] === b[key]);
}

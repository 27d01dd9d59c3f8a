import { type BatchStatus, canMove, isFinal } from '../../src/core/batch.ts';
import { virtualEpoch } from '../support/virtual-clock.ts';
import type { Database } from './database.ts';
import type { Operation } from './store-view.ts';

/** What the observer must know of whoever beats. */
export interface Worker {
  readonly name: string;
  readonly alive: boolean;
  /** When it died, in ms since the beginning; infinite while it lives. */
  readonly diedAt: number;
  /** When a fault was last done to it. */
  readonly troubledAt: number;
}

interface BatchRow {
  id: string;
  status: BatchStatus;
  closing: string | null;
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
}

const columns = `id, status, closing, ok, err, total, expires_at, created_at, output_file_id, error_file_id,
  completed_at, failed_at, expired_at, cancelled_at, purged`;

/** Clocks of processes follow the database's at every beat; a slow answer puts them off by as much. */
const clockTolerance = 10_000;
const leaseLife = 30_000;

const changing = new Set<Operation>([
  'batches.create',
  'batches.claim',
  'batches.cancel',
  'batches.expire',
  'batches.fail',
  'batches.shut',
  'batches.split',
  'batches.publish',
  'results.record',
  'results.recordMissing',
  'results.purge',
]);

/**
 * Looks at the database after every operation that may change a batch, and says what must never be seen. It knows
 * nothing of the engine's insides.
 */
export class Observer {
  readonly violations: string[] = [];
  readonly workers = new Map<string, Worker>();
  /** When the end of each batch was decided. */
  readonly decidedAt = new Map<string, number>();
  #database: Database;
  #elapsed: () => number;
  #last = new Map<string, BatchRow>();

  constructor(database: Database, elapsed: () => number) {
    this.#database = database;
    this.#elapsed = elapsed;
  }

  /** Whether every one of `count` batches is finished and its rows cleared away. */
  settled(count: number): boolean {
    if (this.#last.size < count) return false;
    for (const row of this.#last.values()) if (row.purged === 0) return false;
    return true;
  }

  statusOf(id: string): BatchStatus | undefined {
    return this.#last.get(id)?.status;
  }

  fail(what: string): void {
    this.violations.push(`${this.#elapsed()} ${what}`);
  }

  async before(name: Operation, args: readonly unknown[]): Promise<void> {
    if (name === 'workers.reap') await this.#mayReap(args[0] as number);
  }

  async after(name: Operation): Promise<void> {
    if (!changing.has(name)) return;
    const rows = await this.#database.db.all<BatchRow>(`SELECT ${columns} FROM batches`);
    for (const row of rows) {
      const last = this.#last.get(row.id);
      if (last) this.#compare(name, last, row);
      else if (Math.abs(row.created_at - virtualEpoch - this.#elapsed()) > clockTolerance)
        this.fail(`${row.id} begins at ${row.created_at - virtualEpoch}`);
      this.#last.set(row.id, row);
    }
  }

  /** No lease of a dead process may be older than a minute. */
  async checkLeases(): Promise<void> {
    const rows = await this.#database.db.all<{ owner: string; batch_id: string; seq: number }>(
      "SELECT owner, batch_id, seq FROM batch_chunks WHERE state = 'leased'",
    );
    const somebodyLives = [...this.workers.values()].some(
      (worker) => worker.alive && this.#elapsed() - worker.troubledAt > 60_000,
    );
    for (const { owner, batch_id, seq } of rows) {
      const worker = this.workers.get(owner);
      if (!worker) this.fail(`${batch_id}/${seq} is leased by nobody (${owner})`);
      else if (somebodyLives && this.#elapsed() - worker.diedAt > 60_000)
        this.fail(`${batch_id}/${seq} is still leased by ${worker.name}, which died at ${worker.diedAt}`);
    }
  }

  #compare(by: Operation, last: BatchRow, row: BatchRow): void {
    const tell = (what: string) => this.fail(`${by}: ${row.id} ${what}`);
    if (row.status !== last.status && !canMove(last.status, row.status))
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

  /** Chunks may be taken from the dead and from those that were held up, never from a process that could beat. */
  async #mayReap(before: number): Promise<void> {
    const owners = await this.#database.db.all<{ owner: string }>(
      `SELECT DISTINCT c.owner FROM batch_chunks c LEFT JOIN workers w ON w.id = c.owner
       WHERE c.state = 'leased' AND (w.id IS NULL OR w.beat_at < ?)`,
      [before],
    );
    for (const { owner } of owners) {
      const worker = this.workers.get(owner);
      if (worker?.alive && this.#elapsed() - worker.troubledAt > leaseLife + 12_000)
        this.fail(`chunks are taken from ${worker.name}, which is well`);
    }
  }
}

function same(a: BatchRow, b: BatchRow): boolean {
  return (Object.keys(a) as (keyof BatchRow)[]).every((key) => key === 'purged' || a[key] === b[key]);
}

import { groupsOf } from '../../base/groups-of.ts';
import type { Batch } from '../../core/batch.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { BatchStore, ChangingBatch } from '../../store/contract/batches.ts';
import { readFirstAndRunning } from '../list-open.ts';
import { findWaiting, type WaitSources } from '../read/waiting.ts';

/** Rows that one statement reads. */
const rowsPerRead = 1_000;
/** Whole batches that one statement reads, which are new. */
const newPerRead = 100;

export interface OpenBatchesDeps {
  store: Pick<BatchStore, 'listChanging' | 'findMany'>;
  waitSources: WaitSources;
  /** Batches with lines that this process has sent and that are not answered. */
  sending: () => ReadonlySet<string>;
}

/** Open batch as it was last seen. */
export interface SeenBatch {
  batch: Batch;
  waiting: Waiting | null;
  /** Differs if something has changed that is an event. */
  key: string;
}

/** Difference between two reads. */
export interface Round {
  open: ReadonlyMap<string, SeenBatch>;
  /** Open batches that are new or have changed. */
  changed: readonly string[];
  /** Those of `changed` that are new. */
  created: readonly string[];
  /** Batches that were open before. */
  ended: readonly string[];
}

/** Reads what can change of all open batches, and finds what has. The rest of a batch is read once. */
export class OpenBatches {
  #deps: OpenBatchesDeps;
  #seen = new Map<string, SeenBatch>();
  /** True if the last read left batches out. */
  isPartial = false;

  constructor(deps: OpenBatchesDeps) {
    this.#deps = deps;
  }

  /** Number of batches of the last read. */
  get size(): number {
    return this.#seen.size;
  }

  /**
   * @param elsewhere batches with lines in work at other processes
   * @param most reads only this many of the oldest, and as many of those in progress
   */
  async read(elsewhere: ReadonlySet<string>, most = Number.POSITIVE_INFINITY): Promise<Round> {
    const rows = await this.#rows(most);
    const running = new Set([...elsewhere, ...this.#deps.sending()]);
    const fresh = await this.#fresh(rows);
    const open = new Map<string, SeenBatch>();
    const changed: string[] = [];
    const created: string[] = [];
    for (const row of rows) {
      const before = this.#seen.get(row.id);
      const known = before?.batch ?? fresh.get(row.id);
      // Deleted between the two statements.
      if (!known) continue;
      const seen = this.#look({ ...known, ...row }, running.has(row.id));
      if (seen.key !== before?.key) changed.push(row.id);
      if (!before) created.push(row.id);
      open.set(row.id, seen);
    }
    const ended = [...this.#seen.keys()].filter((id) => !open.has(id));
    this.#seen = open;
    return { open, changed, created, ended };
  }

  async #rows(max: number): Promise<ChangingBatch[]> {
    const read = (of: 'open' | 'running') => (limit: number, last?: ChangingBatch) =>
      this.#deps.store.listChanging(limit, last?.id, of);
    const { rows, isPartial } = await readFirstAndRunning({
      pageSize: rowsPerRead,
      max,
      first: read('open'),
      running: read('running'),
    });
    this.isPartial = isPartial;
    return rows;
  }

  async #fresh(rows: readonly ChangingBatch[]): Promise<Map<string, Batch>> {
    const ids = rows.map(({ id }) => id).filter((id) => !this.#seen.has(id));
    const found = new Map<string, Batch>();
    for (const group of groupsOf(ids, newPerRead))
      for (const batch of await this.#deps.store.findMany(group)) found.set(batch.id, batch);
    return found;
  }

  #look(batch: Batch, isRunning: boolean): SeenBatch {
    const waiting = findWaiting(batch, isRunning ? 1 : 0, this.#deps.waitSources);
    const { status, closing, ok, err, priority, pausedAt, atRiskAt, expiresAt } = batch;
    const changing = [status, closing, ok, err, priority, pausedAt, atRiskAt, expiresAt];
    return { batch, waiting, key: [...changing, isRunning, waiting?.reason, waiting?.since].join(' ') };
  }
}

import type { Reservation } from '../../accounts/reservations.ts';
import { backoffMs } from '../../base/backoff.ts';
import { sleep, type Timer } from '../../base/clock.ts';
import { createRetryLog, type RetryLog } from '../../core/retry-log.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { LineResult, RecordOutcome } from '../../store/contract/results.ts';
import type { BatchContext } from '../batch-context.ts';

/** A group is written at this many rows, or this long after its first row. */
const groupRows = 256;
const groupMs = 50;
/** Limits of unrecorded answers; above them no lines are sent. */
const maxRows = 4_096;
const maxBytes = 64 * 1024 * 1024;
const errorBackoff = { initialMs: 500, maxMs: 5_000 };
/** Rejections after which a row is given up, by a database that takes other rows. */
const maxRefusals = 3;
const messages = {
  failed: 'results could not be recorded; trying again',
  succeeded: 'results are recorded again',
};

export interface RecorderDeps extends Pick<
  BatchContext,
  'store' | 'worker' | 'clock' | 'time' | 'billingClock' | 'log' | 'isDatabaseDown'
> {
  /** Called after each group, with the outcome for its batches and the finished chunks. */
  onRecorded: (outcomes: readonly RecordOutcome[], finished: readonly Lease[]) => void;
  /** Called when a row of the batch was given up: its line has no result. */
  onRefused: (batchId: string, error: unknown) => Promise<void>;
}

/** Results, and the chunks that they finish, in one transaction. */
interface ResultGroup {
  rows: LineResult[];
  finished: Lease[];
}

/**
 * Group commit of answers (batch-engine.md, "Recording"): an answer frees its slot at once, and the database gets a few writes
 * a second, one at a time. While the database fails, answers wait, up to the limits above. The parts of a rejected group are
 * written one by one, so that a bad row harms only its batch.
 */
export class Recorder {
  #deps: RecorderDeps;
  #rows: LineResult[] = [];
  #reservations = new WeakMap<LineResult, Reservation>();
  /** Chunks without lines to run, each with the number of rows added before it. */
  #finished: { lease: Lease; after: number }[] = [];
  #bytes = 0;
  /** Totals ever added, and those durable; both are written in order. */
  #added = { rows: 0, chunks: 0 };
  #written = { rows: 0, chunks: 0 };
  #timer: Timer | null = null;
  #flushing: Promise<void> | null = null;
  /** Batches with a row given up. Their chunks are not finished, because a line has no result. */
  #refused = new Set<string>();
  #stuckSince: number | null = null;
  #stop = new AbortController();
  #failures: RetryLog;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#failures = createRetryLog(deps.log, messages);
  }

  /** True while more answers may be added. */
  get hasRoom(): boolean {
    return this.#rows.length < maxRows && this.#bytes < maxBytes;
  }

  /** Epoch milliseconds since which the database takes no results; null while it does. */
  get stuckSince(): number | null {
    return this.#stuckSince;
  }

  /** @param reservation of the budgets, until the result is written */
  add(result: LineResult, reservation?: Reservation): void {
    this.#rows.push(result);
    if (reservation) this.#reservations.set(result, reservation);
    this.#added.rows++;
    this.#bytes += result.body.length;
    this.#schedule();
  }

  /** Finishes a chunk whose lines were all added. */
  finish(lease: Lease): void {
    this.#finished.push({ lease, after: this.#added.rows });
    this.#added.chunks++;
    this.#schedule();
  }

  /** Writes everything added so far; resolves when it is durable. */
  async flush(): Promise<void> {
    const { rows, chunks } = this.#added;
    const isWritten = () => this.#written.rows >= rows && this.#written.chunks >= chunks;
    while (!isWritten() && !this.#stop.signal.aborted) await this.#start();
  }

  /** Drops the answers that a failing database has not taken. */
  abandon(): void {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#rows = [];
    this.#finished = [];
    this.#bytes = 0;
  }

  #schedule(): void {
    if (this.#flushing || this.#stop.signal.aborted) return;
    if (this.#rows.length >= groupRows) return void this.#start();
    this.#timer ??= this.#deps.clock.after(groupMs, () => void this.#start());
  }

  #start(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#flushing) return this.#flushing;
    this.#flushing = this.#group().finally(() => {
      this.#flushing = null;
      if (this.#rows.length > 0 || this.#finished.length > 0) this.#schedule();
      else this.#refused.clear();
    });
    return this.#flushing;
  }

  async #group(): Promise<void> {
    const rows = this.#rows.splice(0, groupRows);
    // A chunk is finished with its last row or after it.
    const written = this.#written.rows + rows.length;
    const ready = this.#finished.findIndex(({ after }) => after > written);
    const finished = this.#finished.splice(0, ready === -1 ? this.#finished.length : ready);
    if (rows.length === 0 && finished.length === 0) return;
    const leases = finished.map(({ lease }) => lease);
    const outcomes = await this.#record({ rows, finished: leases });
    if (!outcomes) return;
    for (const row of rows) {
      this.#bytes -= row.body.length;
      this.#reservations.get(row)?.settle();
    }
    this.#written.rows = written;
    this.#written.chunks += leases.length;
    this.#deps.onRecorded(outcomes, leases);
  }

  /** Retries until the group is written or given up. */
  async #record(group: ResultGroup): Promise<RecordOutcome[] | undefined> {
    const { store, worker, time, billingClock, clock, isDatabaseDown } = this.#deps;
    const { rows } = group;
    const finished = group.finished.filter(({ batchId }) => !this.#refused.has(batchId));
    if (rows.length === 0 && finished.length === 0) return [];
    for (let failures = 0, refusals = 0; !this.#stop.signal.aborted; failures++) {
      try {
        const billedAt = billingClock.now();
        const outcomes = await store.results.record(worker, rows, finished, time.now(), billedAt);
        this.#stuckSince = null;
        this.#failures.succeeded();
        return outcomes;
      } catch (error) {
        this.#failures.failed(error, { rows: rows.length });
        if (!(await isDatabaseDown(error))) {
          if (rows.length + finished.length > 1) return this.#recordParts({ rows, finished });
          if (++refusals >= maxRefusals || this.#refused.has(batchOf(group)))
            return this.#refuse(group, error);
        } else this.#stuckSince ??= clock.now();
        await sleep(clock, backoffMs(failures + 1, errorBackoff), this.#stop.signal);
      }
    }
    return undefined;
  }

  async #recordParts(group: ResultGroup): Promise<RecordOutcome[] | undefined> {
    const outcomes: RecordOutcome[] = [];
    for (const part of split(group)) {
      const outcome = await this.#record(part);
      if (!outcome) return undefined;
      outcomes.push(...outcome);
    }
    return outcomes;
  }

  async #refuse(group: ResultGroup, error: unknown): Promise<RecordOutcome[]> {
    const batchId = batchOf(group);
    this.#refused.add(batchId);
    const fields = { err: error, batch: batchId, line: group.rows[0]?.line };
    this.#deps.log.error(fields, 'the database rejects a result; the result is given up');
    await this.#deps.onRefused(batchId, error);
    return [];
  }
}

/** Batch of a group of one row or one chunk. */
function batchOf({ rows, finished }: ResultGroup): string {
  return (rows[0] ?? finished[0]!).batchId;
}

/** Splits a group by batch, or that of one batch into its rows and then its finished chunks. */
function split({ rows, finished }: ResultGroup): ResultGroup[] {
  const ids = new Set([...rows, ...finished].map(({ batchId }) => batchId));
  if (ids.size > 1)
    return [...ids].map((id) => ({
      rows: rows.filter(({ batchId }) => batchId === id),
      finished: finished.filter(({ batchId }) => batchId === id),
    }));
  return [
    ...rows.map((row) => ({ rows: [row], finished: [] })),
    ...finished.map((lease) => ({ rows: [], finished: [lease] })),
  ];
}

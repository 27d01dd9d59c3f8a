import { backoffMs } from '../../base/backoff.ts';
import { sleep, type Timer } from '../../base/clock.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { LineResult, RecordOutcome } from '../../store/contract/results.ts';
import type { BatchContext } from '../batch-context.ts';

/** A group is flushed at this many rows, or this long after its first row. */
const groupRows = 256;
const groupMs = 50;
/** Above this many unrecorded answers, or bytes of them, nothing new is sent. */
const maxRows = 4_096;
const maxBytes = 64 * 1024 * 1024;
const pauses = { initialMs: 500, maxMs: 5_000 };
/** How often the database may refuse a row, while it takes others, until the row is given up. */
const maxRefusals = 3;

export interface RecorderDeps extends Pick<
  BatchContext,
  'store' | 'worker' | 'clock' | 'time' | 'log' | 'isAway'
> {
  /** Called after each group: what became of its batches, and the chunks that were finished. */
  onRecorded: (outcomes: readonly RecordOutcome[], finished: readonly Lease[]) => void;
  /** The database does not take a row of this batch, whose line has no result then. */
  onRefused: (batchId: string, error: unknown) => Promise<void>;
}

/** What one transaction records: results, and chunks that are finished with them. */
interface ResultGroup {
  rows: LineResult[];
  finished: Lease[];
}

/**
 * Group commit of answers (batch-engine.md, "Recording"): one flush at a time, so that a slot is free when its answer is
 * there and the database is asked a few times a second. A failing database is asked again; answers wait, bounded. Of a group
 * that is refused each part is recorded alone, so that what is refused harms only its batch.
 */
export class Recorder {
  #deps: RecorderDeps;
  #rows: LineResult[] = [];
  /** Chunks without lines left, each with the number of rows added before it. */
  #finished: { lease: Lease; after: number }[] = [];
  #bytes = 0;
  /** How many were ever added, and how many of those are durable; both are written in order. */
  #added = { rows: 0, chunks: 0 };
  #written = { rows: 0, chunks: 0 };
  #timer: Timer | null = null;
  #flushing: Promise<void> | null = null;
  /** Batches a row of which was given up. None of their chunks is finished: a line in one of them has no result. */
  #refused = new Set<string>();
  #stuckSince: number | null = null;
  #stop = new AbortController();

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  /** Whether the buffer takes more answers. */
  get hasRoom(): boolean {
    return this.#rows.length < maxRows && this.#bytes < maxBytes;
  }

  /** Since when the database takes nothing, in epoch milliseconds; null while it does. */
  get stuckSince(): number | null {
    return this.#stuckSince;
  }

  add(result: LineResult): void {
    this.#rows.push(result);
    this.#added.rows++;
    this.#bytes += result.body.length;
    this.#schedule();
  }

  /** All lines of the chunk were added. */
  finish(lease: Lease): void {
    this.#finished.push({ lease, after: this.#added.rows });
    this.#added.chunks++;
    this.#schedule();
  }

  /** Writes what is there now; resolves when it is durable, however much is added meanwhile. */
  async flush(): Promise<void> {
    const { rows, chunks } = this.#added;
    const isWritten = () => this.#written.rows >= rows && this.#written.chunks >= chunks;
    while (!isWritten() && !this.#stop.signal.aborted) await this.#start();
  }

  /** Gives up on what a failing database did not take. */
  abandon(): void {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#rows = [];
    this.#finished = [];
    this.#bytes = 0;
  }

  #schedule(): void {
    if (this.#flushing || this.#stop.signal.aborted) return;
    if (this.#rows.length >= groupRows) {
      void this.#start();
      return;
    }
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
    // A chunk may only be finished with or after its last row, and rows are written in order.
    const written = this.#written.rows + rows.length;
    const ready = this.#finished.findIndex(({ after }) => after > written);
    const finished = this.#finished.splice(0, ready === -1 ? this.#finished.length : ready);
    if (rows.length === 0 && finished.length === 0) return;
    const leases = finished.map(({ lease }) => lease);
    const outcomes = await this.#record({ rows, finished: leases });
    if (!outcomes) return;
    for (const row of rows) this.#bytes -= row.body.length;
    this.#written.rows = written;
    this.#written.chunks += leases.length;
    this.#deps.onRecorded(outcomes, leases);
  }

  /** Until it succeeds or is given up. */
  async #record(group: ResultGroup): Promise<RecordOutcome[] | undefined> {
    const { store, worker, time, log, clock, isAway } = this.#deps;
    const { rows } = group;
    const finished = group.finished.filter(({ batchId }) => !this.#refused.has(batchId));
    if (rows.length === 0 && finished.length === 0) return [];
    for (let failures = 0, refusals = 0; !this.#stop.signal.aborted; failures++) {
      try {
        const outcomes = await store.results.record(worker, rows, finished, time.now());
        this.#stuckSince = null;
        return outcomes;
      } catch (error) {
        log.error({ err: error, rows: rows.length }, 'results could not be recorded; trying again');
        if (!(await isAway(error))) {
          if (rows.length + finished.length > 1) return this.#recordApart({ rows, finished });
          if (++refusals >= maxRefusals || this.#refused.has(batchOf(group)))
            return this.#refuse(group, error);
        } else this.#stuckSince ??= clock.now();
        await sleep(clock, backoffMs(failures + 1, pauses), this.#stop.signal);
      }
    }
    return undefined;
  }

  async #recordApart(group: ResultGroup): Promise<RecordOutcome[] | undefined> {
    const outcomes: RecordOutcome[] = [];
    for (const part of apart(group)) {
      const outcome = await this.#record(part);
      if (!outcome) return undefined;
      outcomes.push(...outcome);
    }
    return outcomes;
  }

  async #refuse(group: ResultGroup, error: unknown): Promise<RecordOutcome[]> {
    const batchId = batchOf(group);
    this.#refused.add(batchId);
    const told = { err: error, batch: batchId, line: group.rows[0]?.line };
    this.#deps.log.error(told, 'the database does not take a result; it is given up');
    await this.#deps.onRefused(batchId, error);
    return [];
  }
}

/** Of a group of one row, or one chunk. */
function batchOf({ rows, finished }: ResultGroup): string {
  return (rows[0] ?? finished[0]!).batchId;
}

/** The batches of a group; of one batch its rows in their order, then the chunks that are finished with them. */
function apart({ rows, finished }: ResultGroup): ResultGroup[] {
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

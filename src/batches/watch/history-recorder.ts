import {
  addPoint,
  type BatchHistory,
  currentWait,
  type HistoryPoint,
  isPointDue,
  noHistory,
  noteWait,
} from '../../core/batch-history.ts';
import type { Waiting } from '../../core/waiting.ts';
import { groupsOf } from '../../base/groups-of.ts';
import { sum } from '../../base/sum.ts';
import type { BatchSnapshot } from '../../store/contract/batches.ts';
import type { HistoryStore } from '../../store/contract/histories.ts';
import type { Round, SeenBatch } from './open-batches.ts';

/** Interval of writes, and so the part of a history that a crash can lose. */
const saveMs = 5_000;
/** A shorter wait is not recorded. */
const minWaitMs = 5_000;
/** Histories that one statement reads or writes. */
const perStatement = 100;

/** End of the history of an open batch; the rest is read when it changes. */
interface Recorded {
  history: BatchHistory;
  /** Epoch milliseconds at which the counts were last those of the last point. */
  unchangedUntil: number;
  /** Wait that has begun, or null for the end of one, until it has lasted. */
  pending: { waiting: Waiting | null; at: number } | null;
}

/**
 * Records progress and waits of open batches, on one process at a time. Counts are those of the database, so a restart or
 * another process continues the same curve.
 */
export class HistoryRecorder {
  #store: HistoryStore;
  #recorded = new Map<string, Recorded>();
  /** Whole histories with changes that are not written. */
  #changed = new Map<string, BatchHistory>();
  #savedAt = 0;

  constructor(store: HistoryStore) {
    this.#store = store;
  }

  /** Notes waits, and returns the batches that need a point. */
  async observe({ open, ended }: Round, now: number): Promise<string[]> {
    await this.#begin([...open.keys()]);
    for (const id of ended) await this.#end(id, now);
    const due: string[] = [];
    for (const [id, seen] of open) {
      const recorded = this.#recorded.get(id)!;
      const wait = this.#lastingWait(recorded, seen.waiting, now);
      if (wait) await this.#change(id, (history) => noteWait(history, wait.waiting, wait.at));
      if (this.#needsPoint(recorded, seen, now)) due.push(id);
    }
    return due;
  }

  async addPoint({ batch, ledger }: BatchSnapshot, now: number): Promise<void> {
    const recorded = this.#recorded.get(batch.id);
    if (!recorded) return;
    const input = sum(ledger.map(({ usage }) => usage.inputTokens));
    const output = sum(ledger.map(({ usage }) => usage.outputTokens));
    const point: HistoryPoint = [now, batch.ok, batch.err, input, output];
    await this.#change(batch.id, (history) =>
      addPoint(withFlatPart(history, recorded.unchangedUntil), point),
    );
  }

  /** Writes the changes, at most every five seconds. */
  async save(now: number, isLast = false): Promise<void> {
    if (this.#changed.size === 0 || (!isLast && now - this.#savedAt < saveMs)) return;
    const changed = [...this.#changed].map(([batchId, history]) => ({ ...history, batchId, updatedAt: now }));
    for (const group of groupsOf(changed, perStatement)) await this.#store.put(group);
    this.#changed.clear();
    this.#savedAt = now;
  }

  /** Forgets everything: another process records. */
  forget(): void {
    this.#recorded.clear();
    this.#changed.clear();
  }

  async #begin(batchIds: readonly string[]): Promise<void> {
    const unknown = batchIds.filter((id) => !this.#recorded.has(id));
    for (const ids of groupsOf(unknown, perStatement)) {
      const stored = new Map((await this.#store.get(ids)).map((history) => [history.batchId, history]));
      for (const id of ids) this.#remember(id, stored.get(id) ?? noHistory);
    }
  }

  async #end(batchId: string, now: number): Promise<void> {
    await this.#change(batchId, (history) => noteWait(history, null, now));
    this.#recorded.delete(batchId);
  }

  /** The begin or the end of a wait that has lasted long enough to be recorded. */
  #lastingWait(recorded: Recorded, waiting: Waiting | null, now: number): Recorded['pending'] {
    if (currentWait(recorded.history)?.reason === waiting?.reason) {
      recorded.pending = null;
      return null;
    }
    if (recorded.pending?.waiting?.reason !== waiting?.reason) recorded.pending = null;
    recorded.pending ??= { waiting: waiting && withStart(waiting, now), at: now };
    if (now - recorded.pending.at < minWaitMs) return null;
    const { pending } = recorded;
    recorded.pending = null;
    return pending;
  }

  #needsPoint(recorded: Recorded, { batch }: SeenBatch, now: number): boolean {
    if (batch.inProgressAt === null) return false;
    const last = recorded.history.points.at(-1);
    const isSame = last !== undefined && last[1] === batch.ok && last[2] === batch.err;
    if (isSame) recorded.unchangedUntil = now;
    return !isSame && isPointDue(recorded.history, now);
  }

  async #change(batchId: string, change: (history: BatchHistory) => BatchHistory): Promise<void> {
    const before = this.#changed.get(batchId) ?? (await this.#store.get([batchId]))[0] ?? noHistory;
    const after = change(before);
    if (after === before) return;
    const { intervalMs, points, waits, omittedWaits } = after;
    this.#changed.set(batchId, { intervalMs, points, waits, omittedWaits });
    this.#remember(batchId, after);
  }

  /** Keeps the ends of a history, which decide what is added. */
  #remember(batchId: string, history: BatchHistory): void {
    const points = history.points.slice(-1);
    const { unchangedUntil = 0, pending = null } = this.#recorded.get(batchId) ?? {};
    const short = { ...history, points, waits: history.waits.slice(-1) };
    this.#recorded.set(batchId, {
      history: short,
      unchangedUntil: Math.max(unchangedUntil, points[0]?.[0] ?? 0),
      pending,
    });
  }
}

/** Adds the end of a time without progress, so that the curve is flat until then. */
function withFlatPart(history: BatchHistory, unchangedUntil: number): BatchHistory {
  const last = history.points.at(-1);
  return last ? addPoint(history, [unchangedUntil, last[1], last[2], last[3], last[4]]) : history;
}

/** A wait in the queue begins at the instant at which it was first seen. */
function withStart(waiting: Waiting, now: number): Waiting {
  return waiting.reason === 'queued' ? { ...waiting, since: now } : waiting;
}

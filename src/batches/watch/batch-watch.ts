import { groupsOf } from '../../base/groups-of.ts';
import { createPoll, type Poll } from '../../base/poll.ts';
import type { Duties } from '../../core/duties.ts';
import { isFinal } from '../../core/batch.ts';
import { failureFields } from '../../core/retry-log.ts';
import type { BatchSnapshot, BatchStore } from '../../store/contract/batches.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import type { BatchContext } from '../batch-context.ts';
import type { BatchChanges } from './batch-changes.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import { OpenBatches, type OpenBatchesDeps, type Round } from './open-batches.ts';

/** Interval between two reads, and so the shortest between two changes of a batch. */
const readMs = 1_000;
/** Reads take at most one part in this many of the time: for streams, and for histories alone. */
const restFactors = { followed: 10, unfollowed: 100 } as const;
/** Changes are collected this long after the last reader has left, for one that reconnects. */
const lingerMs = 60_000;
/** Snapshots of one transaction: some milliseconds of an embedded database. */
const perSnapshot = 16;
/** Clocks of processes differ by less. */
const clockSkewMs = 5_000;
/** New batches that are searched for those that have ended before they were seen. */
const maxNew = 500;

export interface BatchWatchDeps
  extends
    Pick<BatchContext, 'clock' | 'time' | 'log' | 'worker' | 'exclusive'>,
    Omit<OpenBatchesDeps, 'store'> {
  store: {
    batches: OpenBatchesDeps['store'] &
      Pick<BatchStore, 'listAll' | 'snapshots' | 'elsewhere' | 'removedSince'>;
  };
  view: (snapshot: BatchSnapshot) => Promise<BatchView>;
  changes: BatchChanges;
  /** Their holder records the histories. */
  duties: Pick<Duties, 'isHolder'>;
  histories: HistoryRecorder;
  /** Oldest open batches whose histories are recorded, besides as many of those in progress. */
  maxRecorded?: number;
}

/** Ids of batches: changed ones for the streams, the new ones among them, and those that need a point in their history. */
type ChangedIds = Record<'changed' | 'created' | 'points', ReadonlySet<string>>;

/**
 * Reads all open batches once a second. Changes go to the streams of this process and, on one process of the installation, to the
 * histories of the batches. Nothing is read while there are neither streams nor histories to record.
 */
export class BatchWatch {
  #deps: BatchWatchDeps;
  #poll: Poll;
  /** Null before the first read, and while nothing is read. */
  #open: OpenBatches | null = null;
  /** Epoch milliseconds. */
  #readAt = 0;
  /** Monotonic milliseconds. */
  #nextReadAt = Number.NEGATIVE_INFINITY;
  #followedUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: BatchWatchDeps) {
    this.#deps = deps;
    this.#poll = createPoll(
      deps.clock,
      readMs,
      () => this.#readIfDue(),
      (error) => deps.log.warn(failureFields(error), 'the open batches could not be read; trying again'),
    );
  }

  start(): Promise<void> {
    return this.#poll.start();
  }

  async stop(): Promise<void> {
    await this.#poll.stop();
    const { time, log } = this.#deps;
    await this.#save(time.now(), true).catch((error: unknown) =>
      log.warn(failureFields(error), 'histories of batches could not be written'),
    );
  }

  /** Resolves once changes are collected, so that readers miss none from then on. */
  async collect(): Promise<void> {
    this.#follow();
    if (this.#open === null || this.#open.isPartial) await this.#poll.refresh();
  }

  #follow(): void {
    this.#followedUntil = this.#deps.clock.monotonic() + lingerMs;
  }

  async #readIfDue(): Promise<void> {
    const { clock, changes } = this.#deps;
    if (changes.readers > 0) this.#follow();
    const begun = clock.monotonic();
    const isFollowed = begun < this.#followedUntil;
    const mustRead = this.#open === null || (isFollowed && this.#open.isPartial);
    if (begun < this.#nextReadAt && !mustRead) return;
    await this.#read(isFollowed);
    const end = clock.monotonic();
    this.#nextReadAt = end + (restFactors[isFollowed ? 'followed' : 'unfollowed'] - 1) * (end - begun);
  }

  async #read(isFollowed: boolean): Promise<void> {
    const { store, worker, time, exclusive, duties, changes, histories, maxRecorded = 10_000 } = this.#deps;
    const now = time.now();
    const isRecorder = duties.isHolder();
    if (!isFollowed) changes.clear();
    if (!isRecorder) histories.forget();
    if (!isFollowed && !isRecorder) return void (this.#open = null);
    if (!isFollowed && this.#open && !this.#open.isPartial && this.#open.size > maxRecorded) {
      // Forgotten first: otherwise the batches beyond `maxRecorded` would seem to have ended.
      await this.#save(now, true);
      histories.forget();
      this.#open = null;
    }
    // Batches that were left out while only histories were recorded are not new.
    const isFirstRead = this.#open === null || this.#open.isPartial;
    this.#open ??= new OpenBatches({ ...this.#deps, store: store.batches });
    const elsewhere = exclusive ? [] : await store.batches.elsewhere(worker);
    const round = await this.#open.read(new Set(elsewhere), isFollowed ? undefined : maxRecorded);
    // The first read finds no changes, only what is open.
    const isStreaming = isFollowed && !isFirstRead;
    const shortLived = isStreaming ? await this.#shortLived(round) : [];
    const changed = isStreaming ? [...round.changed, ...round.ended, ...shortLived] : [];
    const created = new Set([...round.created, ...shortLived]);
    const points = isRecorder ? await histories.observe(round, now) : [];
    await this.#readChanged({ changed: new Set(changed), created, points: new Set(points) }, now);
    if (isStreaming) changes.addRemoved(await store.batches.removedSince(this.#readAt - clockSkewMs));
    await this.#save(now);
    this.#readAt = now;
  }

  /** Writes the histories, or forgets them if the process lost its lease: the next holder has recorded since. */
  async #save(now: number, isLast = false): Promise<void> {
    const { duties, histories } = this.#deps;
    if (duties.isHolder()) await histories.save(now, isLast);
    else histories.forget();
  }

  /** Reads batches for streams and histories. */
  async #readChanged({ changed, created, points }: ChangedIds, now: number): Promise<void> {
    const { store, view, changes, histories } = this.#deps;
    const ids = [...new Set([...changed, ...points])];
    for (const group of groupsOf(ids, perSnapshot)) {
      const snapshots = await store.batches.snapshots(group);
      for (const snapshot of snapshots)
        if (points.has(snapshot.batch.id)) await histories.addPoint(snapshot, now);
      const shown = snapshots.filter(({ batch }) => changed.has(batch.id));
      changes.add(await Promise.all(shown.map(view)), created);
    }
  }

  /** Batches that were created since the last read and have already ended. */
  async #shortLived({ open, ended }: Round): Promise<string[]> {
    const { store, changes } = this.#deps;
    const createdAfter = this.#readAt - clockSkewMs;
    const created = await store.batches.listAll({ createdAfter, order: 'asc', limit: maxNew });
    return created
      .filter((batch) => isFinal(batch.status) && !changes.has(batch))
      .map(({ id }) => id)
      .filter((id) => !open.has(id) && !ended.includes(id));
  }
}

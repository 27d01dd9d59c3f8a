import { newEvent, unlessAborted } from '../../base/on-abort.ts';
import type { Batch } from '../../core/batch.ts';
import { shuttingDown } from '../../core/errors.ts';
import type { RemovedBatch } from '../../store/contract/batches.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import type { BatchMatcher, MatchedState } from '../read/match.ts';

/** Batches whose last change is remembered. */
const maxBatches = 2_000;
/** Changes of one page, which a reader takes before it gets the next one. */
const maxPage = 200;
/** States of one batch that are remembered. */
const maxStates = 8;

/** Changes of batches since a position, each batch once, in the order of their last changes. */
export interface ChangePage {
  /** False if changes before these may be missing, so that the reader has to list the batches. */
  complete: boolean;
  changes: readonly ChangedBatch[];
  /** Position after these changes. */
  position: string;
}

export interface ChangedBatch {
  position: string;
  id: string;
  /** Null if the batch was deleted. */
  view: BatchView | null;
}

interface Change extends RemovedBatch {
  sequence: number;
  view: BatchView | null;
  /** States before this one, newest last: a reader may have seen the batch in any of them. */
  earlier: readonly MatchedState[];
  /** Readers at an earlier position may have seen the batch in another state. */
  knownSince: number;
  /** True once the batch has changed again. */
  superseded: boolean;
}

interface Page {
  from: number;
  to: number;
  page: ChangePage;
}

/**
 * The last change of each batch that changed lately, for any number of readers. A reader has no queue: it reads from its position
 * when it is ready, so that a slow one skips states but no batch, and costs no memory.
 */
export class BatchChanges {
  #processId: string;
  /** In order. */
  #changes: Change[] = [];
  #latest = new Map<string, Change>();
  #sequence = 0;
  /** Changes up to this one are forgotten. */
  #floor = 0;
  #next = newEvent();
  #stopped = false;
  /** Last page by filter, which readers with the same filter share. */
  #pages = new Map<string, Page>();
  #readers = 0;

  /** @param processId distinguishes the positions of this process from those of others */
  constructor(processId: string) {
    this.#processId = processId;
  }

  get readers(): number {
    return this.#readers;
  }

  /** True if the last known change of the batch has this status. */
  has({ id, status }: Pick<Batch, 'id' | 'status'>): boolean {
    return this.#latest.get(id)?.view?.batch.status === status;
  }

  /**
   * Adds changes, and wakes the readers.
   * @param created ids of those that were in no other state before
   */
  add(views: readonly BatchView[], created: ReadonlySet<string> = new Set()): void {
    for (const view of views) this.#add(view.batch, view, created.has(view.batch.id));
    if (views.length > 0) this.#wake();
  }

  /** Adds the deletions that are not known yet. */
  addRemoved(batches: readonly RemovedBatch[]): void {
    const unknown = batches.filter(({ id }) => this.#latest.get(id)?.view !== null);
    for (const batch of unknown) this.#add(batch, null, false);
    if (unknown.length > 0) this.#wake();
  }

  /** Forgets all changes: later positions of readers are incomplete. */
  clear(): void {
    this.#changes = [];
    this.#latest.clear();
    this.#pages.clear();
    this.#floor = ++this.#sequence;
  }

  stop(): void {
    this.#stopped = true;
    this.#next.reject(shuttingDown());
  }

  /**
   * Yields an empty page, then pages with the batches that match, or matched before they changed.
   * @param key of the filter: readers with the same one share pages
   * @param position of an earlier page, of this process or another
   * @throws ApiError `shutting_down`; the reason of `signal`
   */
  async *read(
    key: string,
    matcher: BatchMatcher,
    position: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<ChangePage> {
    this.#readers++;
    try {
      const known = this.#sequenceOf(position);
      let at = known ?? this.#sequence;
      yield this.#empty(at, known !== undefined);
      for (;;) {
        signal.throwIfAborted();
        if (this.#stopped) throw shuttingDown();
        if (at < this.#floor) {
          at = this.#sequence;
          yield this.#empty(at, false);
          continue;
        }
        const { to, page } = this.#page(key, matcher, at);
        at = to;
        if (page.changes.length > 0) yield page;
        else if (at === this.#sequence) await unlessAborted(this.#next.promise, signal);
      }
    } finally {
      this.#readers--;
    }
  }

  #wake(): void {
    if (this.#changes.length > 2 * maxBatches) this.#trim();
    this.#pages.clear();
    this.#next.resolve();
    this.#next = newEvent();
  }

  #add({ id, orgId }: RemovedBatch, view: BatchView | null, isNew: boolean): void {
    const before = this.#latest.get(id);
    if (before) before.superseded = true;
    const earlier = before?.view ? withState(before.earlier, stateOf(before.view)) : [];
    const sequence = ++this.#sequence;
    const knownSince = before ? before.knownSince : isNew ? 0 : sequence;
    const change = { sequence, id, orgId, view, earlier, knownSince, superseded: false };
    this.#latest.set(id, change);
    this.#changes.push(change);
  }

  #trim(): void {
    const current = this.#changes.filter(({ superseded }) => !superseded);
    const dropped = current.splice(0, Math.max(0, current.length - maxBatches));
    for (const { id } of dropped) this.#latest.delete(id);
    this.#floor = dropped.at(-1)?.sequence ?? this.#floor;
    this.#changes = current;
  }

  #page(key: string, matcher: BatchMatcher, from: number): Page {
    const shared = this.#pages.get(key);
    if (shared?.from === from) return shared;
    const changes: Change[] = [];
    let to = this.#sequence;
    for (const change of this.#since(from)) {
      if (change.superseded || !matches(matcher, change, from)) continue;
      if (changes.length === maxPage) break;
      changes.push(change);
    }
    if (changes.length === maxPage) to = changes.at(-1)!.sequence;
    const listed = changes.map(({ sequence, id, view }) => ({
      position: this.#positionOf(sequence),
      id,
      view,
    }));
    const page = { complete: true, changes: listed, position: this.#positionOf(to) };
    const made = { from, to, page };
    this.#pages.set(key, made);
    return made;
  }

  #since(sequence: number): Change[] {
    const changes = this.#changes;
    let start = changes.length;
    while (start > 0 && changes[start - 1]!.sequence > sequence) start--;
    return changes.slice(start);
  }

  #empty(sequence: number, complete: boolean): ChangePage {
    return { complete, changes: [], position: this.#positionOf(sequence) };
  }

  #positionOf(sequence: number): string {
    return `${this.#processId}.${sequence}`;
  }

  /** Undefined for a position of another process, and for one that is forgotten. */
  #sequenceOf(position: string | undefined): number | undefined {
    const at = position?.lastIndexOf('.') ?? -1;
    if (position === undefined || position.slice(0, at) !== this.#processId) return undefined;
    const text = position.slice(at + 1);
    const sequence = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return sequence >= this.#floor && sequence <= this.#sequence ? sequence : undefined;
  }
}

export function stateOf({ batch, waiting, atRisk }: BatchView): MatchedState {
  return { status: batch.status, waiting: waiting?.reason ?? null, atRisk };
}

/** A deletion matches all filters but the org: what the batch was is gone. */
function matches(
  { org, batch, state }: BatchMatcher,
  { orgId, view, earlier, knownSince }: Change,
  from: number,
): boolean {
  if (view === null) return org(orgId);
  return batch(view.batch) && (from < knownSince || state(stateOf(view)) || earlier.some(state));
}

function withState(states: readonly MatchedState[], state: MatchedState): readonly MatchedState[] {
  const isSame = (other: MatchedState) =>
    other.status === state.status && other.waiting === state.waiting && other.atRisk === state.atRisk;
  return states.some(isSame) ? states : [...states.slice(1 - maxStates), state];
}

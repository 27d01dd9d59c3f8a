import {
  advance,
  chooseChunks,
  mayTake,
  type OrgQueue,
  type ReadyChunk,
} from '../../src/core/fair-queueing.ts';
import type { Chunk } from '../../src/core/batch.ts';
import { owedAfter } from '../../src/core/late-work.ts';
import { isLate } from '../../src/core/urgency.ts';
import type {
  Claim,
  ClaimedBatch,
  ClaimOptions,
  ClaimRequest,
  Lease,
} from '../../src/store/contract/claim.ts';
import { lateLook, looks } from '../../src/store/sql/batches/claiming/choose.ts';
import type { RecordOutcome } from '../../src/store/contract/results.ts';
import {
  idOf,
  linesOf,
  orgId,
  orgOf,
  readyChunks,
  returnChunk,
  type SimBatch,
  type SimBatches,
  takeChunk,
} from './batches.ts';
import { hasLateBatch, OrgOrder, type OrgWork } from './org-order.ts';

export const nothingClaimed: Claim = { chunks: [], batches: [], faults: [] };

interface Leased {
  worker: string;
  chunk: Chunk;
  batch: SimBatch;
  /** Lines with a result. */
  recorded: Set<number>;
}

/** Org that a claim looks at. */
interface Looked {
  work: OrgWork;
  start: number;
  chunks: ReadyChunk[];
}

/**
 * The queue in memory, with the decisions of the database: which orgs a claim looks at, and `chooseChunks` of the server.
 * `test/scale/queue.test.ts` compares it with the store.
 */
export class SimQueue {
  readonly orders: readonly OrgOrder[];
  readonly #batches: SimBatches;
  readonly #leased = new Map<string, Leased>();
  readonly #modelOf: ReadonlyMap<string, number>;
  readonly #weightOf: (org: number) => number;

  constructor(batches: SimBatches, models: readonly string[], weightOf: (org: number) => number) {
    this.#batches = batches;
    this.#modelOf = new Map(models.map((id, at) => [id, at]));
    this.#weightOf = weightOf;
    this.orders = models.map(() => new OrgOrder(weightOf));
  }

  add(batch: SimBatch): void {
    this.orders[batch.model]!.add(batch);
  }

  /** Puts the batches in the last quarter of their window before the others, as `BatchStore.hurry` does. */
  hurry(now: number): void {
    for (const batch of this.#batches.all) {
      const isDue = now >= batch.expiresAt - Math.floor((batch.expiresAt - batch.createdAt) / 4);
      if (isDue && !isLate(batch.due)) this.orders[batch.model]!.hurry(batch);
    }
  }

  /** Requests that a claim would bring something for: only their models are locked. */
  promising(wanted: readonly ClaimRequest[]): ClaimRequest[] {
    return wanted.filter((wish) => {
      const order = this.#orderOf(wish);
      if (wish.lines + wish.chunks > 0) return order.ready.length > 0;
      const isNew = ({ org }: OrgWork) => !Object.hasOwn(wish.claimedDue, orgId(org));
      if (wish.moreOrgs > 0 && order.ready.some(isNew)) return true;
      if ((wish.moreLateOrgs ?? 0) > 0 && order.late.some(isNew)) return true;
      return Object.entries(wish.claimedDue).some(([id, due]) => {
        const [first] = order.of(orgOf(id)).batches;
        return first !== undefined && first.due < due;
      });
    });
  }

  /** One claim, under the locks of its models. */
  claim(worker: string, wanted: readonly ClaimRequest[], options: ClaimOptions): Claim {
    const chunks: Chunk[] = [];
    const batches = new Map<string, ClaimedBatch>();
    for (const { wish, chosen, looked } of this.#choose(wanted, options)) {
      const order = this.#orderOf(wish);
      const idle = new Set(looked.filter((each) => each.chunks.length === 0).map(({ work }) => work));
      const ests = new Map<string, number>();
      for (const { batchId, seq, orgId: org, est, isAhead } of chosen) {
        order.owed = owedAfter(order.owed, est, isAhead);
        const batch = this.#batches.byId(batchId);
        const chunk = takeChunk(batch, seq);
        order.settle(batch);
        this.#leased.set(keyOf(chunk), { worker, chunk, batch, recorded: new Set() });
        chunks.push(chunk);
        batches.set(batchId, toClaimed(batch, this.#weightOf(batch.org)));
        ests.set(org, (ests.get(org) ?? 0) + est);
      }
      const starts: number[] = [];
      for (const { work, start } of looked) {
        const est = ests.get(orgId(work.org));
        const served = est === undefined ? start : start + advance(est, work.weight);
        if (est !== undefined) order.serve(work, served);
        if (!idle.has(work)) starts.push(served);
      }
      const next = others(order.ready, looked);
      for (const work of next) starts.push(Math.max(work.served, order.virtualTime));
      if (chosen.length > 0 && starts.length > 0) order.virtualTime = Math.min(...starts);
    }
    return { chunks, batches: [...batches.values()], faults: [] };
  }

  /** Looks at few orgs, and at more where these do not suffice. */
  #choose(wanted: readonly ClaimRequest[], options: ClaimOptions) {
    for (const look of looks) {
      const isLast = look === looks.at(-1);
      const each = Math.max(1, Math.floor(look.orgs / wanted.length));
      const found = wanted.map((wish) => ({ wish, works: this.#first(wish, each) }));
      const total = found.reduce((sum, { works }) => sum + works.length, 0);
      const most = Math.max(look.minEach, Math.ceil(look.chunks / total));
      const suspects = { ...options.suspects };
      let isCut = false;
      const choices = found.map(({ wish, works }) => {
        const order = this.#orderOf(wish);
        const toLooked = (work: OrgWork): Looked => ({
          work,
          start: Math.max(work.served, order.virtualTime),
          chunks: this.#heads(work, most, options),
        });
        const looked = works.map(toLooked);
        const queues = looked.map(({ work, start, chunks }): OrgQueue => {
          const hasMore =
            chunks.length === most && (!isLast || chunks.some((chunk) => mayTake(chunk, suspects)));
          return { ...toQueue(work), start, chunks, hasMore };
        });
        for (const work of new Set([...others(order.ready, looked), ...others(order.late, looked)])) {
          const start = Math.max(work.served, order.virtualTime);
          queues.push({ ...toQueue(work), start, chunks: [], hasMore: true });
        }
        const choice = chooseChunks(queues, wish, suspects, order.owed);
        isCut ||= choice.isTruncated;
        return { wish, chosen: choice.chunks, looked };
      });
      if (!isCut || isLast) return choices;
    }
    return [];
  }

  /** First `each` orgs, as many of the first without claimed lines, in their order, and the first with late chunks. */
  #first({ model, claimedDue, moreOrgs }: ClaimRequest, each: number): OrgWork[] {
    const order = this.orders[this.#modelOf.get(model)!]!;
    const first: OrgWork[] = [];
    let left = Math.min(each, moreOrgs);
    for (const [at, work] of order.ready.entries()) {
      if (at >= each && left === 0) break;
      const isNew = left > 0 && !Object.hasOwn(claimedDue, orgId(work.org));
      if (isNew) left--;
      if (at < each || isNew) first.push(work);
    }
    return [...new Set([...first, ...order.late.slice(0, lateLook(each))])];
  }

  #heads(work: OrgWork, most: number, { now, except = [] }: ClaimOptions): ReadyChunk[] {
    const heads: ReadyChunk[] = [];
    for (const batch of work.batches) {
      if (heads.length === most) break;
      if (batch.expiresAt <= now || except.includes(idOf(batch))) continue;
      const shared = { batchId: idOf(batch), orgId: orgId(work.org), due: batch.due };
      const fresh = readyChunks(batch) - batch.returned.length;
      const news = Array.from({ length: Math.min(fresh, most - heads.length) }, (_, at) => {
        const lines = linesOf(batch, batch.next + at);
        return { ...shared, seq: batch.next + at, lines, est: lines * batch.est, kills: 0 };
      });
      const olds = batch.returned.map(({ seq, kills, lines }) => {
        return { ...shared, seq, lines: lines.length, est: lines.length * batch.est, kills };
      });
      heads.push(...[...olds, ...news].toSorted((a, b) => a.kills - b.kills || a.seq - b.seq));
    }
    return heads.slice(0, most);
  }

  #orderOf({ model }: ClaimRequest): OrgOrder {
    return this.orders[this.#modelOf.get(model)!]!;
  }

  release(worker: string, leases: readonly Lease[]): number {
    const held = leases.flatMap((lease) => this.#held(worker, lease) ?? []);
    for (const each of held) this.#giveBack(each, false);
    return held.length;
  }

  /** Leases of a dead process, which its peers take back. */
  lost(worker: string): number {
    const held = [...this.#leased.values()].filter((each) => each.worker === worker);
    for (const each of held) this.#giveBack(each, true);
    return held.length;
  }

  /** Records results; the first one of a line counts. */
  record(
    lines: readonly { batchId: string; line: number }[],
    finished: readonly Lease[],
    worker: string,
    now: number,
  ) {
    const outcomes = new Map<string, RecordOutcome>();
    let doubled = 0;
    for (const { batchId, line } of lines) {
      const batch = this.#batches.byId(batchId);
      const seq = Math.floor(line / batch.size) + 1;
      const outcome = outcomes.get(batchId) ?? {
        batchId,
        orgId: orgId(batch.org),
        kept: 0,
        closed: batch.expiresAt <= now,
        complete: false,
      };
      outcomes.set(batchId, outcome);
      const recorded = this.#leased.get(keyOf({ batchId, seq }))?.recorded;
      const isDouble = !recorded || recorded.has(line);
      if (outcome.closed || isDouble) {
        if (isDouble) doubled++;
        continue;
      }
      recorded.add(line);
      batch.done++;
      outcome.kept++;
      outcome.complete = batch.done === batch.total;
    }
    for (const lease of finished) if (this.#held(worker, lease)) this.#leased.delete(keyOf(lease));
    return { outcomes: [...outcomes.values()], doubled };
  }

  #giveBack({ chunk, batch, recorded }: Leased, isLost: boolean): void {
    this.#leased.delete(keyOf(chunk));
    const lines = chunk.lines.filter(({ line }) => !recorded.has(line));
    if (lines.length === 0) return;
    returnChunk(batch, { ...chunk, lines }, isLost);
    this.add(batch);
  }

  #held(worker: string, lease: Lease): Leased | undefined {
    const held = this.#leased.get(keyOf(lease));
    return held?.worker === worker && held.chunk.epoch === lease.epoch ? held : undefined;
  }
}

/** First org that was not looked at, if any. */
function others(works: readonly OrgWork[], looked: readonly Looked[]): OrgWork[] {
  const found = works.find((work) => !looked.some((each) => each.work === work));
  return found ? [found] : [];
}

function toQueue(work: OrgWork): Pick<OrgQueue, 'orgId' | 'weight' | 'isLate'> {
  return { orgId: orgId(work.org), weight: work.weight, isLate: hasLateBatch(work) };
}

function keyOf({ batchId, seq }: Pick<Lease, 'batchId' | 'seq'>): string {
  return `${batchId}/${seq}`;
}

function toClaimed(batch: SimBatch, weight: number): ClaimedBatch {
  const { due, expiresAt } = batch;
  return {
    id: idOf(batch),
    orgId: orgId(batch.org),
    keyId: 'key_1',
    keyFamily: null,
    endpoint: '/v1/chat/completions',
    due,
    expiresAt,
    prices: {},
    priceFactor: 1,
    tier: null,
    blobId: idOf(batch),
    weight,
  };
}

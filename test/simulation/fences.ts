import type { Claim, Lease, ClaimRequest } from '../../src/store/contract/claim.ts';
import type { LineResult, RecordOutcome } from '../../src/store/contract/results.ts';
import type { Changes, ChunkChange, ChunkSide } from './audit.ts';
import type { BatchRow } from './observer.ts';
import type { Operation } from './store-view.ts';

/** Clocks of processes follow the database's at every beat; a slow answer puts them off by as much. */
export const clockTolerance = 10_000;
const leaseLife = 30_000;

/** One operation of a process, and what it did to the database. */
export interface Deed {
  name: Operation;
  args: readonly unknown[];
  /** Undefined when it failed. */
  result: unknown;
  changes: Changes;
  before: ReadonlyMap<string, BatchRow>;
  after: ReadonlyMap<string, BatchRow>;
  /** When the operation was sent and when it was done, in the database's time. */
  sentAt: number;
  doneAt: number;
}

interface Known extends ChunkSide {
  model: string;
  lines: number[];
  /** When it came to be so. */
  since: number;
  /** Why it is so, and who had it before. */
  by: Operation;
  from: string | null;
}

/** Operations that give chunks out. */
export const claims: ReadonlySet<Operation> = new Set(['batches.claim', 'batches.claimClosings']);

const keyOf = ({ batchId, seq }: { batchId: string; seq: number }) => `${batchId}/${seq}`;

/**
 * The rules of leases and of the gate, told from what every operation did to chunks and results and from nothing else:
 * who may take, give back and finish what, and when a result may be written.
 */
export class Fences {
  /** All chunks as the database has them. */
  readonly chunks = new Map<string, Known>();
  /** Lines with a result, by batch. */
  readonly recorded = new Map<string, Set<number>>();
  /** When the last beat of each worker was written. */
  readonly beats = new Map<string, number>();
  #chunkOf = new Map<string, string>();
  #tell: (what: string) => void;

  constructor(tell: (what: string) => void) {
    this.#tell = tell;
  }

  /** The chunk a line is in. */
  chunkOf(batchId: string, line: number): Known | undefined {
    return this.chunks.get(this.#chunkOf.get(`${batchId}/${line}`) ?? '');
  }

  isRecorded(batchId: string, line: number): boolean {
    return this.recorded.get(batchId)?.has(line) === true;
  }

  /** Who has the chunk in hand whose owners died most often, of those that have any. */
  unluckiest(): string | null {
    const leased = [...this.chunks].filter(([key, { state }]) => state === 'leased' && !key.endsWith('/0'));
    return leased.toSorted(([, a], [, b]) => b.kills - a.kills)[0]?.[1].owner ?? null;
  }

  judge(deed: Deed): void {
    if (
      deed.name === 'batches.publish' ||
      deed.name === 'batches.closeGate' ||
      deed.name === 'results.recordMissing'
    )
      this.#judgeClosing(deed);
    this.#judgeResults(deed);
    for (const { batchId, line } of deed.changes.results) {
      const lines = this.recorded.get(batchId) ?? new Set();
      this.recorded.set(batchId, lines.add(line));
    }
    for (const change of deed.changes.chunks) {
      if (change.old && !isSame(change.old, change.now)) this.#judgeMove(change, deed);
      this.#learn(change, deed);
    }
    for (const chunk of deed.changes.gone) this.chunks.delete(keyOf(chunk));
    if (claims.has(deed.name) && deed.result) this.#judgeClaim(deed);
    if (deed.name === 'workers.leave' && deed.result !== undefined) this.#judgeLeave(deed);
  }

  #learn({ batchId, seq, model, lines, old, now }: ChunkChange, { doneAt, name }: Deed): void {
    const key = keyOf({ batchId, seq });
    this.chunks.set(key, { ...now, model, lines, since: doneAt, by: name, from: old?.owner ?? null });
    if (now.state !== 'done') for (const line of lines) this.#chunkOf.set(`${batchId}/${line}`, key);
  }

  #judgeMove(change: ChunkChange, deed: Deed): void {
    const { old, now } = change;
    const told = `${keyOf(change)} (${old!.state} of ${old!.owner}, epoch ${old!.epoch}, kills ${old!.kills})`;
    const fail = (what: string) => this.#tell(`${deed.name}: ${told} ${what}`);
    const move = `${old!.state}>${now.state}`;
    const rule = moves[move]?.[deed.name];
    if (!rule) return fail(`became ${now.state}`);
    if (!rule(change, deed.args)) fail(`became ${now.state} of ${now.owner} without right`);
    const taken = deed.name === 'workers.reap' ? 1 : 0;
    const beat = this.beats.get(old!.owner ?? '') ?? Number.NEGATIVE_INFINITY;
    if (taken > 0 && deed.doneAt - beat < leaseLife)
      fail(`was taken from one who beat ${deed.doneAt - beat} ms ago`);
    if (now.kills !== old!.kills + taken) fail(`counts ${now.kills} kills`);
    if (now.epoch !== old!.epoch + (now.state === 'leased' ? 1 : 0)) fail(`is in epoch ${now.epoch}`);
    if (now.state === 'done') this.#judgeDone(change, deed, fail);
  }

  /** A chunk is finished when each of its lines has a result, or when its batch takes none any more. */
  #judgeDone(change: ChunkChange, deed: Deed, fail: (what: string) => void): void {
    if (change.seq === 0 || deed.name === 'batches.split') return;
    const batch = deed.after.get(change.batchId);
    if (batch && batch.closing !== null) return;
    // Its window is over, and nobody has said so yet.
    if (batch && deed.name === 'results.record' && !isOpen(batch, deed.args[3] as number)) return;
    const open = change.lines.filter((line) => !this.isRecorded(change.batchId, line));
    if (open.length > 0) fail(`is done without results of lines ${open.slice(0, 8).join(', ')}`);
  }

  #judgeClaim({ name, args, result, after }: Deed): void {
    if (!this.beats.has(args[0] as string)) this.#tell(`${name}: ${String(args[0])} never beat`);
    for (const { batchId, seq, lines, epoch } of (result as Claim).chunks) {
      const known = this.chunks.get(keyOf({ batchId, seq }));
      const batch = after.get(batchId);
      const fail = (what: string) => this.#tell(`${name}: ${batchId}/${seq} ${what}`);
      if (known?.owner !== args[0] || known?.epoch !== epoch) fail('was handed out and not leased');
      if ((name === 'batches.claimClosings') !== (batch?.closing !== null))
        fail(`was leased while closing is ${batch?.closing}`);
      const handed = lines.map(({ line }) => line).toSorted((a, b) => a - b);
      const open = (known?.lines ?? [])
        .filter((line) => !this.isRecorded(batchId, line))
        .toSorted((a, b) => a - b);
      if (handed.join() !== open.join())
        fail(`has lines ${open.join()} to run and was handed out with ${handed.join()}`);
    }
  }

  #judgeLeave({ args }: Deed): void {
    for (const [key, { state, owner }] of this.chunks)
      if (state === 'leased' && owner === args[0])
        this.#tell(`workers.leave: ${key} is still leased by ${owner}`);
  }

  /** Only the holder of chunk 0 closes a batch. */
  #judgeClosing({ name, args, result, before, after, changes }: Deed): void {
    const worker = args[0] as string;
    const lease = args[1] as Lease;
    const known = this.chunks.get(keyOf(lease));
    const holds = known?.state === 'leased' && known.owner === worker && known.epoch === lease.epoch;
    const fail = (what: string) => this.#tell(`${name}: ${lease.batchId} ${what}`);
    if (holds && lease.seq === 0) return;
    const was = before.get(lease.batchId);
    const is = after.get(lease.batchId);
    if (was?.status !== is?.status) fail(`became ${is?.status} at the hands of one who does not close it`);
    if (was?.accept_until !== is?.accept_until) fail('was shut by one who does not close it');
    if (changes.results.length > 0) fail('got results from one who does not close it');
    if (result === true || result === 'published') fail(`was said to be ${String(result)} without its lease`);
  }

  /** Results come through the gate while it is open, from `recordMissing` once it is shut. */
  #judgeResults({ name, args, result, changes, before, sentAt }: Deed): void {
    const fail = (what: string) => this.#tell(`${name}: ${what}`);
    const batches = new Set(changes.results.map(({ batchId }) => batchId));
    for (const batchId of batches) {
      const batch = before.get(batchId);
      if (name === 'results.recordMissing') {
        if (batch && batch.accept_until > 0) fail(`${batchId} still takes answers`);
      } else if (name !== 'results.record') fail(`${batchId} got results`);
      else if (!batch || !isOpen(batch, args[3] as number))
        fail(`${batchId} got results when it took none any more`);
      else if (batch.accept_until <= sentAt - clockTolerance) fail(`${batchId} got results too late`);
    }
    if (name !== 'results.record' || result === undefined) return;
    const made = new Set(changes.results.map(({ batchId, line }) => `${batchId}/${line}`));
    for (const { batchId, line } of args[1] as LineResult[]) {
      const batch = before.get(batchId);
      const isKept = made.has(`${batchId}/${line}`) || this.isRecorded(batchId, line);
      if (!isKept && batch && isOpen(batch, args[3] as number))
        fail(`the result of ${batchId}/${line} is lost`);
    }
    const given = new Set((args[1] as LineResult[]).map(({ batchId, line }) => `${batchId}/${line}`));
    for (const extra of made) if (!given.has(extra)) fail(`${extra} got a result nobody gave`);
    for (const { batchId, closed } of result as RecordOutcome[]) {
      const batch = before.get(batchId);
      const open = batch !== undefined && isOpen(batch, args[3] as number);
      if (open === closed) fail(`said of ${batchId} that it is ${closed ? 'closed' : 'open'}`);
    }
  }
}

function isOpen({ status, accept_until }: BatchRow, now: number): boolean {
  return (status === 'in_progress' || status === 'cancelling') && accept_until > now;
}

const isSame = (a: ChunkSide, b: ChunkSide) =>
  a.state === b.state && a.owner === b.owner && a.epoch === b.epoch && a.kills === b.kills;

type MoveRule = (change: ChunkChange, args: readonly unknown[]) => boolean;

/** Leased by the worker in `args[0]`, under one of the leases given. */
const holds =
  (leases: (args: readonly unknown[]) => readonly Lease[]): MoveRule =>
  ({ batchId, seq, old }, args) =>
    old!.owner === args[0] &&
    leases(args).some(
      (lease) => lease.batchId === batchId && lease.seq === seq && lease.epoch === old!.epoch,
    );
const ofBatch =
  (at: number): MoveRule =>
  ({ batchId }, args) =>
    batchId === args[at];
const always: MoveRule = () => true;
const isOwn: MoveRule = ({ old }, args) => old!.owner === args[0];

const leasesAt = (at: number) => (args: readonly unknown[]) => args[at] as Lease[];
const leaseAt = (at: number) => (args: readonly unknown[]) => [args[at] as Lease];
const isClosing: MoveRule = ({ seq }) => seq === 0;

/** Which operation may move a chunk from one state to another, and which chunk. */
const moves: Record<string, Record<Operation, MoveRule>> = {
  'ready>leased': {
    'batches.claim': ({ seq, model, now }, args) =>
      now.owner === args[0] &&
      seq > 0 &&
      (args[1] as ClaimRequest[]).some(({ names }) => names.includes(model)),
    'batches.claimClosings': ({ seq, now }, args) => now.owner === args[0] && seq === 0,
  },
  'leased>ready': {
    'batches.release': holds(leasesAt(1)),
    'workers.leave': isOwn,
    // Whose chunks may be taken, the beats say.
    'workers.reap': always,
  },
  'leased>done': {
    'results.record': holds(leasesAt(2)),
    'batches.split': holds(leaseAt(1)),
    'batches.publish': (change, args) => isClosing(change, args) && holds(leaseAt(1))(change, args),
    'batches.claim': isOwn,
    // Of a batch whose end is decided nothing is run again.
    'batches.release': holds(leasesAt(1)),
    'workers.leave': isOwn,
    'workers.reap': always,
  },
  // Nothing is left to run of a batch whose end is decided.
  'ready>done': {
    'batches.cancel': ofBatch(1),
    'batches.expire': always,
    'batches.fail': ofBatch(0),
    'batches.claim': always,
  },
  'held>ready': {
    'results.record': isClosing,
    'batches.cancel': isClosing,
    'batches.expire': isClosing,
    'batches.fail': isClosing,
  },
};

import type { Claim, Lease, ClaimRequest } from '../../src/store/contract/claim.ts';
import type { LineResult, RecordOutcome } from '../../src/store/contract/results.ts';
import type { Changes, ChunkChange, ChunkSide } from './audit.ts';
import type { BatchRow } from './observer.ts';
import type { Operation } from './store-view.ts';

/** Tolerance for process clocks, which a slow answer to a heartbeat puts off. In ms. */
export const clockTolerance = 10_000;
const leaseLife = 30_000;

/** One operation of a process, with its changes to the database. */
export interface ObservedOperation {
  name: Operation;
  args: readonly unknown[];
  /** Undefined if the operation failed. */
  result: unknown;
  changes: Changes;
  before: ReadonlyMap<string, BatchRow>;
  after: ReadonlyMap<string, BatchRow>;
  /** Database time when the operation was sent and when it was done. */
  sentAt: number;
  doneAt: number;
}

interface Known extends ChunkSide {
  model: string;
  lines: number[];
  /** Time of the latest change. */
  since: number;
  /** Operation of the latest change, and the owner before it. */
  by: Operation;
  from: string | null;
}

/** Operations that lease chunks. */
export const claims: ReadonlySet<Operation> = new Set(['batches.claim', 'batches.claimClosings']);

const keyOf = ({ batchId, seq }: { batchId: string; seq: number }) => `${batchId}/${seq}`;

/**
 * Checks the rules of leases and of the gate: who may claim, release and finish a chunk, and when a result may be written.
 * Its only source is the log of changes to chunks and results.
 */
export class Fences {
  /** All chunks in the database. */
  readonly chunks = new Map<string, Known>();
  /** Lines with a result, by batch. */
  readonly recorded = new Map<string, Set<number>>();
  /** Time of the last heartbeat of each worker. */
  readonly beats = new Map<string, number>();
  #chunkOf = new Map<string, string>();
  #tell: (what: string) => void;

  constructor(tell: (what: string) => void) {
    this.#tell = tell;
  }

  /** Chunk that holds the line. */
  chunkOf(batchId: string, line: number): Known | undefined {
    return this.chunks.get(this.#chunkOf.get(`${batchId}/${line}`) ?? '');
  }

  /** Lease under which the line is: a chunk that was split begins again with other numbers. */
  leaseOf(batchId: string, line: number): string {
    const key = this.#chunkOf.get(`${batchId}/${line}`) ?? '';
    return `${key}#${this.chunks.get(key)?.epoch ?? 0}`;
  }

  isRecorded(batchId: string, line: number): boolean {
    return this.recorded.get(batchId)?.has(line) === true;
  }

  /** Owner of the leased chunk with the most kills. */
  ownerOfSuspect(): string | null {
    const leased = [...this.chunks].filter(([key, { state }]) => state === 'leased' && !key.endsWith('/0'));
    return leased.toSorted(([, a], [, b]) => b.kills - a.kills)[0]?.[1].owner ?? null;
  }

  judge(operation: ObservedOperation): void {
    if (
      operation.name === 'batches.publish' ||
      operation.name === 'batches.closeGate' ||
      operation.name === 'results.recordMissing'
    )
      this.#judgeClosing(operation);
    this.#judgeResults(operation);
    for (const { batchId, line } of operation.changes.results) {
      const lines = this.recorded.get(batchId) ?? new Set();
      this.recorded.set(batchId, lines.add(line));
    }
    for (const change of operation.changes.chunks) {
      if (change.old && !isSame(change.old, change.now)) this.#judgeMove(change, operation);
      this.#learn(change, operation);
    }
    for (const chunk of operation.changes.gone) this.chunks.delete(keyOf(chunk));
    if (claims.has(operation.name) && operation.result) this.#judgeClaim(operation);
    if (operation.name === 'workers.leave' && operation.result !== undefined) this.#judgeLeave(operation);
  }

  #learn({ batchId, seq, model, lines, old, now }: ChunkChange, { doneAt, name }: ObservedOperation): void {
    const key = keyOf({ batchId, seq });
    this.chunks.set(key, { ...now, model, lines, since: doneAt, by: name, from: old?.owner ?? null });
    if (now.state !== 'done') for (const line of lines) this.#chunkOf.set(`${batchId}/${line}`, key);
  }

  #judgeMove(change: ChunkChange, operation: ObservedOperation): void {
    const { old, now } = change;
    const chunk = `${keyOf(change)} (${old!.state} of ${old!.owner}, epoch ${old!.epoch}, kills ${old!.kills})`;
    const fail = (what: string) => this.#tell(`${operation.name}: ${chunk} ${what}`);
    const move = `${old!.state}>${now.state}`;
    const rule = moves[move]?.[operation.name];
    if (!rule) return fail(`became ${now.state}`);
    if (!rule(change, operation.args)) fail(`became ${now.state} of ${now.owner} against the rules`);
    const taken = operation.name === 'workers.reap' ? 1 : 0;
    const beat = this.beats.get(old!.owner ?? '') ?? Number.NEGATIVE_INFINITY;
    if (taken > 0 && operation.doneAt - beat < leaseLife)
      fail(`was taken from a worker whose last heartbeat is ${operation.doneAt - beat} ms old`);
    if (now.kills !== old!.kills + taken) fail(`counts ${now.kills} kills`);
    if (now.epoch !== old!.epoch + (now.state === 'leased' ? 1 : 0)) fail(`is in epoch ${now.epoch}`);
    if (now.state === 'done') this.#judgeDone(change, operation, fail);
  }

  /** A chunk may be finished once each of its lines has a result, or once its batch accepts no more results. */
  #judgeDone(change: ChunkChange, operation: ObservedOperation, fail: (what: string) => void): void {
    if (change.seq === 0 || operation.name === 'batches.split') return;
    const batch = operation.after.get(change.batchId);
    if (batch && batch.closing !== null) return;
    // The window is over, but no process has expired the batch yet.
    if (batch && operation.name === 'results.record' && !isOpen(batch, operation.args[3] as number)) return;
    const open = change.lines.filter((line) => !this.isRecorded(change.batchId, line));
    if (open.length > 0) fail(`is done without results of lines ${open.slice(0, 8).join(', ')}`);
  }

  #judgeClaim({ name, args, result, after }: ObservedOperation): void {
    if (!this.beats.has(args[0] as string)) this.#tell(`${name}: ${String(args[0])} sent no heartbeat`);
    for (const { batchId, seq, lines, epoch } of (result as Claim).chunks) {
      const known = this.chunks.get(keyOf({ batchId, seq }));
      const batch = after.get(batchId);
      const fail = (what: string) => this.#tell(`${name}: ${batchId}/${seq} ${what}`);
      if (known?.owner !== args[0] || known?.epoch !== epoch) fail('was returned by a claim without a lease');
      if ((name === 'batches.claimClosings') !== (batch?.closing !== null))
        fail(`was leased while closing is ${batch?.closing}`);
      const handed = lines.map(({ line }) => line).toSorted((a, b) => a - b);
      const open = (known?.lines ?? [])
        .filter((line) => !this.isRecorded(batchId, line))
        .toSorted((a, b) => a - b);
      if (handed.join() !== open.join())
        fail(`has lines ${open.join()} to run, but the claim returned ${handed.join()}`);
    }
  }

  #judgeLeave({ args }: ObservedOperation): void {
    for (const [key, { state, owner }] of this.chunks)
      if (state === 'leased' && owner === args[0])
        this.#tell(`workers.leave: ${key} is still leased by ${owner}`);
  }

  /** Only the holder of chunk 0 may close a batch. */
  #judgeClosing({ name, args, result, before, after, changes }: ObservedOperation): void {
    const worker = args[0] as string;
    const lease = args[1] as Lease;
    const known = this.chunks.get(keyOf(lease));
    const holds = known?.state === 'leased' && known.owner === worker && known.epoch === lease.epoch;
    const fail = (what: string) => this.#tell(`${name}: ${lease.batchId} ${what}`);
    if (holds && lease.seq === 0) return;
    const was = before.get(lease.batchId);
    const is = after.get(lease.batchId);
    if (was?.status !== is?.status) fail(`became ${is?.status} by a process that does not close it`);
    if (was?.accept_until !== is?.accept_until) fail('was shut by a process that does not close it');
    if (changes.results.length > 0) fail('got results from a process that does not close it');
    if (result === true || result === 'published')
      fail(`was reported as ${String(result)} without its lease`);
  }

  /** Results are recorded while the gate is open; once it is shut, only `recordMissing` writes them. */
  #judgeResults({ name, args, result, changes, before, sentAt }: ObservedOperation): void {
    const fail = (what: string) => this.#tell(`${name}: ${what}`);
    const batches = new Set(changes.results.map(({ batchId }) => batchId));
    for (const batchId of batches) {
      const batch = before.get(batchId);
      if (name === 'results.recordMissing') {
        if (batch && batch.accept_until > 0) fail(`${batchId} still accepts answers`);
      } else if (name !== 'results.record') fail(`${batchId} got results`);
      else if (!batch || !isOpen(batch, args[3] as number))
        fail(`${batchId} got results when it accepted no more`);
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
    for (const extra of made) if (!given.has(extra)) fail(`${extra} got a result that was not in the call`);
    for (const { batchId, closed } of result as RecordOutcome[]) {
      const batch = before.get(batchId);
      const open = batch !== undefined && isOpen(batch, args[3] as number);
      if (open === closed) fail(`reported that ${batchId} is ${closed ? 'closed' : 'open'}`);
    }
  }
}

function isOpen({ status, accept_until }: BatchRow, now: number): boolean {
  return (status === 'in_progress' || status === 'cancelling') && accept_until > now;
}

const isSame = (a: ChunkSide, b: ChunkSide) =>
  a.state === b.state && a.owner === b.owner && a.epoch === b.epoch && a.kills === b.kills;

type MoveRule = (change: ChunkChange, args: readonly unknown[]) => boolean;

/** True if the worker in `args[0]` held the chunk under one of these leases. */
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

/** Operations that may move a chunk from one state to another, with the condition on the chunk. */
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
    // `#judgeMove` checks the heartbeats of the owner.
    'workers.reap': always,
  },
  'leased>done': {
    'results.record': holds(leasesAt(2)),
    'batches.split': holds(leaseAt(1)),
    'batches.publish': (change, args) => isClosing(change, args) && holds(leaseAt(1))(change, args),
    'batches.claim': isOwn,
    // A chunk of a batch whose end is decided is not run again.
    'batches.release': holds(leasesAt(1)),
    'workers.leave': isOwn,
    'workers.reap': always,
  },
  // A batch whose end is decided has no lines left to run.
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

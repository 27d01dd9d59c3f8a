import type { Timer } from '../../base/clock.ts';
import type { WorkerLoad } from '../../core/worker-load.ts';
import type { Peers } from '../../inference/peers.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { BatchContext } from '../batch-context.ts';
import { SuspensionClock } from './suspension-clock.ts';

const beatMs = 10_000;
/** While it waits for the servers of a model, and once afterwards: the others should know soon. */
const waitingMs = 2_000;
const leastWaitMs = 1_000;
/** An owner silent for this long is dead: others take its work. */
export const leaseLifeMs = 30_000;
/** So long before that it sends nothing more itself. */
const marginMs = 5_000;
/** Two beats further apart than this, and one between them did not arrive. */
const missedMs = 15_000;

export interface HeartbeatDeps extends Pick<BatchContext, 'store' | 'worker' | 'clock' | 'time' | 'log'> {
  /** Learns what the others alive told. */
  peers: Pick<Peers, 'update'>;
  /** What this process tells the others. */
  load: () => WorkerLoad;
  /** Gives back what the store says is leased by this process and it does not hold. */
  giveBackStrays: () => Promise<void>;
  /** Chunks of dead owners were taken back. */
  onReaped: () => void;
  /** This process was silent so long that others may have taken its leases; these are left. */
  onReturn: (leases: readonly Lease[]) => void;
  /** Moves the windows of open batches, where a jump of the database's clock must not end them; else null. */
  moveWindows: ((by: number) => Promise<void>) | null;
}

/**
 * The lease on everything this process holds (batch-engine.md, "Leases"). A beat learns the database's time and the
 * others' load; after it, what the store thinks we hold but we do not is given back, and chunks are taken back from the
 * dead. Without beats nothing is sent any more, by the clock alone, so a database that hangs cannot prolong a lease. What is
 * in flight goes on: the first beat that arrives asks which leases are left, and only the rest is let go of.
 */
export class Heartbeat {
  #deps: HeartbeatDeps;
  #timer: Timer | null = null;
  /** When the last one that arrived was sent, and when the last one was. */
  #lastBeat = Number.NEGATIVE_INFINITY;
  /** The first beat, or the first after one that was missed. */
  #steadySince = Number.NEGATIVE_INFINITY;
  /** When it was last asked which leases are left. */
  #returnedAt = Number.NEGATIVE_INFINITY;
  /** How far windows have still to follow time that went back. */
  #behind = 0;
  #begun = 0;
  #stopped = true;
  /** Whether it told that it waits for something. */
  #waited = false;
  #beating: Promise<void> | null = null;
  #tidying: Promise<void> | null = null;
  #standstill: SuspensionClock;
  /** Standstill of this process, in milliseconds, when its last successful beat was sent. */
  #stoodBefore = 0;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#standstill = new SuspensionClock(deps.clock);
  }

  /**
   * Whether what is leased by this process surely is its own.
   * @param since when it was leased or asked for, in monotonic milliseconds, where it is not in hand yet
   */
  holds(since = Number.POSITIVE_INFINITY): boolean {
    return this.#left() > 0 && since >= this.#returnedAt;
  }

  /** The first beat must succeed: without it nothing may be claimed. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#beat();
    this.#standstill.start();
    await this.#tidying;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#standstill.stop();
    await this.#beating;
    await this.#tidying;
  }

  get #isFirst(): boolean {
    return this.#lastBeat === Number.NEGATIVE_INFINITY;
  }

  #left(): number {
    return this.#lastBeat + leaseLifeMs - marginMs - this.#deps.clock.monotonic();
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { clock, log } = this.#deps;
    // From beat to beat, however long the last one took.
    const wait = Math.max(leastWaitMs, this.#begun + beatMs - clock.monotonic());
    this.#timer = clock.after(Math.min(wait, waitingMs), () => {
      if (!this.#isDue()) return this.#schedule();
      this.#beating = this.#beat()
        .catch((error: unknown) => log.error({ err: error }, 'the heartbeat failed'))
        .finally(() => this.#schedule());
    });
  }

  #isDue(): boolean {
    const { clock, load } = this.#deps;
    const isTime = clock.monotonic() > this.#begun + beatMs - leastWaitMs;
    return isTime || this.#waited || load().waits !== undefined;
  }

  async #beat(): Promise<void> {
    const { store, peers, worker, clock, load } = this.#deps;
    const before = (this.#begun = clock.monotonic());
    const stood = this.#standstill.ms;
    const told = load();
    const { now, others } = await store.workers.beat(worker, told);
    this.#waited = told.waits !== undefined;
    await this.#learn(now, before);
    // This beat must not prolong what has run out.
    if (!this.#isFirst && !this.holds()) await this.#return();
    this.#prolong(before);
    this.#stoodBefore = stood;
    peers.update(others);
    // Not waited for: it waits for the claim under way, and one that hangs must not keep the next beat from being sent.
    this.#tidying ??= this.#tidy(now).finally(() => (this.#tidying = null));
  }

  /** Time and windows move one after the other, in the order in which nothing is ever late that is not. */
  async #learn(now: number, asked: number): Promise<void> {
    const { time, moveWindows } = this.#deps;
    const by = moveWindows && !this.#isFirst ? time.jump(now, asked) : 0;
    // Where this fails it jumps once more at the next beat.
    if (by > 0) await moveWindows?.(by);
    time.synchronize(now, asked);
    this.#behind += Math.min(0, by);
    if (this.#behind === 0) return;
    await moveWindows?.(this.#behind);
    this.#behind = 0;
  }

  /** Counted from when the beat was sent: nobody knows when it was written. */
  #prolong(sent: number): void {
    if (sent - this.#lastBeat > missedMs) this.#steadySince = sent;
    this.#lastBeat = sent;
  }

  /** Once the beat is written nobody takes anything more of it: what the database leaves it is its own. */
  async #return(): Promise<void> {
    const { store, worker, clock, log, onReturn } = this.#deps;
    const leases = await store.workers.leases(worker);
    this.#returnedAt = clock.monotonic();
    const silentMs = Math.round(this.#returnedAt - this.#lastBeat);
    const stoodMs = Math.round(this.#standstill.ms - this.#stoodBefore);
    const message =
      stoodMs * 2 > silentMs
        ? 'this process stood still (suspended, or short of CPU or memory); the work that it still holds goes on'
        : 'the database is back; what it left goes on';
    log.warn({ silent_ms: silentMs, stood_still_ms: stoodMs, leases: leases.length }, message);
    onReturn(leases);
  }

  async #tidy(now: number): Promise<void> {
    const { store, log, giveBackStrays, onReaped } = this.#deps;
    try {
      await giveBackStrays();
      // Where the database was away for us, or before we began, it may have been so for all: the living have a life-time
      // to say so.
      const isSteady = this.#lastBeat - this.#steadySince >= leaseLifeMs;
      if (isSteady && (await store.workers.reap(now - leaseLifeMs)) > 0) onReaped();
    } catch (error) {
      log.error({ err: error }, 'chunks of the dead could not be taken back; the next heartbeat tries again');
    }
  }
}

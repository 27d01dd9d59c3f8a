import type { Timer } from '../../base/clock.ts';
import { StallClock } from '../../base/stall-clock.ts';
import { createRetryLog, type RetryLog } from '../../core/retry-log.ts';
import type { WorkerLoad } from '../../core/worker-load.ts';
import type { Peers } from '../../inference/peers.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { BatchContext } from '../batch-context.ts';

const beatMs = 10_000;
/** Interval while a model is unavailable, and once afterwards: the peers should know soon. */
const waitingMs = 2_000;
const minWaitMs = 1_000;
/** A process without a heartbeat for this long counts as dead, and others take its work. */
export const leaseLifeMs = 30_000;
/** A process stops sending this long before its leases end. */
const marginMs = 5_000;
/** A longer interval between two beats means that one got lost. */
const missedMs = 15_000;
const suspensionTickMs = 5_000;
const messages = { failed: 'the heartbeat failed', succeeded: 'the heartbeat succeeds again' };

export interface HeartbeatDeps extends Pick<BatchContext, 'store' | 'worker' | 'clock' | 'time' | 'log'> {
  peers: Pick<Peers, 'update'>;
  /** Load of this process, for the peers. */
  load: () => WorkerLoad;
  /** Releases leases that the store has for this process, which it does not hold. */
  giveBackStrays: () => Promise<void>;
  /** Names of models whose lines cannot end a process. */
  detached: () => readonly string[];
  /** Called when chunks of dead processes were released. */
  onReaped: () => void;
  /** Called with the leases left after a silence in which others may have taken some. */
  onRefetched: (leases: readonly Lease[]) => void;
  /** Moves the windows of open batches when the database's clock jumps; null if other processes use the database. */
  moveWindows: ((by: number) => Promise<void>) | null;
}

/**
 * The lease on everything this process holds (batch-engine.md, "Leases"). A beat fetches the database's time and the peers'
 * load. After it, stray leases and the chunks of dead processes are released. Without beats, sending stops by this process's
 * clock alone, so that a hanging database cannot extend a lease. Requests in flight continue: the next beat that succeeds
 * fetches the leases left, and only the others are dropped.
 */
export class Heartbeat {
  #deps: HeartbeatDeps;
  #timer: Timer | null = null;
  /** Monotonic time at which the last successful beat was sent. */
  #lastBeatAt = Number.NEGATIVE_INFINITY;
  /** Monotonic time of the first of the beats that arrived without a gap. */
  #steadySince = Number.NEGATIVE_INFINITY;
  /** Monotonic time at which the remaining leases were last fetched. */
  #refetchedAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds by which windows still have to follow a clock that was set back. */
  #behind = 0;
  #beatBegunAt = 0;
  #stopped = true;
  /** True if the last beat reported an unavailable model. */
  #reportedWaits = false;
  #beating: Promise<void> | null = null;
  #tidying: Promise<void> | null = null;
  #suspension: StallClock;
  #failures: RetryLog;
  /** Suspension in milliseconds when the last successful beat was sent. */
  #suspendedBefore = 0;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#suspension = new StallClock(deps.clock, suspensionTickMs);
    this.#failures = createRetryLog(deps.log, messages);
  }

  /**
   * True if the leases of this process are certainly still its own.
   * @param since monotonic milliseconds of the request, for a lease not yet held
   */
  holds(since = Number.POSITIVE_INFINITY): boolean {
    const left = this.#lastBeatAt + leaseLifeMs - marginMs - this.#deps.clock.monotonic();
    return left > 0 && since >= this.#refetchedAt;
  }

  /** Sends the first beat, which must succeed: nothing may be claimed without it. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#beat();
    this.#suspension.start();
    await this.#tidying;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#suspension.stop();
    await this.#beating;
    await this.#tidying;
  }

  get #isFirst(): boolean {
    return this.#lastBeatAt === Number.NEGATIVE_INFINITY;
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { clock } = this.#deps;
    // The interval is from beat to beat, however long the last one took.
    const wait = Math.max(minWaitMs, this.#beatBegunAt + beatMs - clock.monotonic());
    this.#timer = clock.after(Math.min(wait, waitingMs), () => {
      if (!this.#isDue()) return this.#schedule();
      this.#beating = this.#beat()
        .then(
          () => this.#failures.succeeded(),
          (error: unknown) => this.#failures.failed(error),
        )
        .finally(() => this.#schedule());
    });
  }

  #isDue(): boolean {
    const { clock, load } = this.#deps;
    const isTime = clock.monotonic() > this.#beatBegunAt + beatMs - minWaitMs;
    return isTime || this.#reportedWaits || load().waits !== undefined;
  }

  async #beat(): Promise<void> {
    const { store, peers, worker, clock, load } = this.#deps;
    const before = (this.#beatBegunAt = clock.monotonic());
    const suspended = this.#suspension.ms;
    const reported = load();
    const { now, others } = await store.workers.beat(worker, reported);
    this.#reportedWaits = reported.waits !== undefined;
    await this.#followDatabaseTime(now, before);
    // This beat must not extend leases that have lapsed.
    if (!this.#isFirst && !this.holds()) await this.#refetchLeases();
    // Leases count from the sending of the beat, because the time of the write is unknown.
    if (before - this.#lastBeatAt > missedMs) this.#steadySince = before;
    this.#lastBeatAt = before;
    this.#suspendedBefore = suspended;
    peers.update(others);
    // Not awaited: it waits for the current claim, and a claim that hangs must not delay the next beat.
    this.#tidying ??= this.#tidy(now).finally(() => (this.#tidying = null));
  }

  /**
   * Follows the database's clock: moves the windows before the time forwards, and after it backwards, so that no batch counts as
   * late in between.
   * @param now time of the database @param asked monotonic milliseconds at which it was requested
   */
  async #followDatabaseTime(now: number, asked: number): Promise<void> {
    const { time, moveWindows } = this.#deps;
    const by = moveWindows && !this.#isFirst ? time.jump(now, asked) : 0;
    // If this fails, the next beat sees the jump again.
    if (by > 0) await moveWindows?.(by);
    time.synchronize(now, asked);
    this.#behind += Math.min(0, by);
    if (this.#behind === 0) return;
    await moveWindows?.(this.#behind);
    this.#behind = 0;
  }

  /** Fetches the remaining leases. Once the beat is written, no other process takes any of them. */
  async #refetchLeases(): Promise<void> {
    const { store, worker, clock, log, onRefetched } = this.#deps;
    const leases = await store.workers.leases(worker);
    this.#refetchedAt = clock.monotonic();
    const silentMs = Math.round(this.#refetchedAt - this.#lastBeatAt);
    const suspendedMs = Math.round(this.#suspension.ms - this.#suspendedBefore);
    const message =
      suspendedMs * 2 > silentMs
        ? 'this process was suspended, or short of CPU or memory; it continues with the leases it still has'
        : 'the database is back; this process continues with the leases it still has';
    log.warn({ silent_ms: silentMs, stood_still_ms: suspendedMs, leases: leases.length }, message);
    onRefetched(leases);
  }

  async #tidy(now: number): Promise<void> {
    const { store, log, giveBackStrays, onReaped } = this.#deps;
    try {
      await giveBackStrays();
      // After an outage, or at start-up, all other processes get a lease's time to send a beat.
      const isSteady = this.#lastBeatAt - this.#steadySince >= leaseLifeMs;
      if (!isSteady) return;
      if ((await store.workers.reap(now - leaseLifeMs, this.#deps.detached())) > 0) onReaped();
      await store.workers.finishUpgrade(now);
    } catch (error) {
      log.error(
        { err: error },
        'what dead or older processes left could not be put in order; the next heartbeat tries again',
      );
    }
  }
}

import type { Timer } from '../../base/clock.ts';
import type { ApiError } from '../../core/errors.ts';
import type { Closed } from '../../core/slot-leases.ts';
import type { ReplicaState } from '../../core/replica-state.ts';
import type { Engine, EngineCall } from '../engines.ts';
import type { Candidate } from './choose-replica.ts';
import { Health, type ReplicaDeps } from './health/health.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from './concurrency/concurrency-limit.ts';
import { createRateLimit, type RateLimit } from './concurrency/rate-limit.ts';
import type { Sent } from './concurrency/adaptive-concurrency.ts';
import { RefusalBudget } from './health/refusal-budget.ts';

/** One server of a model. As long as its engine is the same one, it is the same server. */
export interface ReplicaOptions {
  /** For logs and for operators: an address without credentials. */
  name: string;
  engine: Engine;
  /** Replicas that share credentials fail together where those are refused. */
  account: string;
  /** How much more or less than its slots say it gets. */
  weight: number;
  /** Gets nothing new. */
  isDraining: boolean;
  /** How many requests it worked on at once when it was last asked, where nobody tells. */
  slotsBefore?: number | undefined;
}

interface FailedCall {
  slackMs?: number | undefined;
  isLine?: boolean;
  isRepeat?: boolean | undefined;
}

/** The weight of the newest answer in the average pace. */
const newest = 0.1;
/** From this share of what may be in flight on, times tell how much it can take. */
const full = 0.75;

/** One server of a model: what it has in flight, and how much that may be. */
export class Replica implements Candidate {
  readonly name: string;
  readonly engine: Engine;
  readonly account: string;
  readonly health: Health;
  /** Milliseconds a unit of work, lately; 0 while nothing is known. */
  pace = 0;
  slowness = 1;
  #inFlight = 0;
  /** Requests that other processes have in flight there. */
  #others = 0;
  #weight: number;
  #isDraining: boolean;
  #limit: ConcurrencyLimit;
  #rate: RateLimit;
  #tolerance = new RefusalBudget();
  #turn: Timer | null = null;
  #parts: ReplicaDeps;
  /** Calls that are not over, whether the server is done with them or not. */
  #calls = 0;
  #onEnd: (() => void) | null = null;
  /** Whether it was told what was found earlier. */
  #isBegun = false;
  /** The one request that tries whether it works again. */
  #trial: Sent | null = null;

  constructor(
    { name, engine, account, weight, isDraining, slotsBefore }: ReplicaOptions,
    parts: ReplicaDeps,
  ) {
    this.name = name;
    this.engine = engine;
    this.account = account;
    this.#weight = weight;
    this.#isDraining = isDraining;
    this.#parts = parts;
    this.#limit = createConcurrencyLimit(engine.slots, () => parts.clock.monotonic(), slotsBefore);
    this.#rate = createRateLimit(() => parts.clock.monotonic());
    this.health = new Health(name, engine, {
      ...parts,
      inFlight: () => this.#inFlight,
      onReport: (report) => this.#limit.applyReport(report),
      onPause: (ms) => this.#rate.paused(ms),
    });
    engine.onRateLimit?.((told) => this.#rate.reported(told));
  }

  /** What an operator may change of a server that runs. */
  set({ weight, isDraining }: Pick<ReplicaOptions, 'weight' | 'isDraining'>): void {
    this.#weight = weight;
    this.#isDraining = isDraining;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get slots(): number {
    return this.#limit.slots;
  }

  /** Requests to have in flight, where that was found out. */
  get discovered(): number | null {
    return this.#limit.discovered;
  }

  /** @param maxInFlight what another process found; null where none does; @param before what was found last, by whomever */
  share(others: number, maxInFlight: number | null, before: number | undefined): void {
    this.#others = others;
    if (before !== undefined && !this.#isBegun) this.#limit.seed(before);
    this.#isBegun ||= before !== undefined;
    this.#limit.followPeer(maxInFlight);
  }

  /** For how long it takes nothing, as was found here. */
  get openForPeers(): Closed | null {
    return this.#isDraining ? null : this.health.breaker.openForPeers;
  }

  /** Another process found that it takes nothing. What is being worked on here speaks against that. */
  applyPeerReport(closed: Closed | undefined): void {
    if (closed && !(this.isUp && this.#inFlight > 0)) this.health.applyPeerReport(closed);
  }

  get capacity(): number {
    return this.#limit.maxInFlight * this.#weight;
  }

  /** Whether it takes requests, or may be tried. */
  get isUp(): boolean {
    return !this.#isDraining && this.health.breaker.state === 'up';
  }

  /**
   * Its pause is over, its rate allows a request, and nobody tries yet whether it works again. Whoever sends because of it is
   * not refused: a line that is sent and refused again and again would leave the process no time for anything else.
   */
  get wantsTrial(): boolean {
    if (this.#isDraining || this.#trial || this.isUnknown || this.health.breaker.state !== 'half-open')
      return false;
    return this.#rate.msLeft === 0 || this.#awaitTurn();
  }

  /** How many requests of batches may be in flight. */
  get maxInFlight(): number {
    if (this.#isDraining) return 0;
    if (this.health.breaker.state === 'up') return this.#limit.maxInFlight;
    return this.wantsTrial ? Math.min(this.#limit.maxInFlight, this.#inFlight + 1) : 0;
  }

  get isUnknown(): boolean {
    return this.health.isUnknown;
  }

  /** It is left alone for failures that may each have been a request's own. */
  get isSuspected(): boolean {
    return !this.#isDraining && this.health.breaker.reason === 'suspected';
  }

  get state(): ReplicaState {
    const { state: health, waiting } = this.health.breaker;
    const { name, slots, inFlight } = this;
    return { name, health: this.#isDraining ? 'draining' : health, slots, inFlight, waiting };
  }

  /**
   * Whether a request may be sent now. An interactive one finds a place where batches have filled the slots, and is not
   * refused on a suspicion, which others' requests may have caused.
   */
  accepts(priority: EngineCall['priority']): boolean {
    if (this.isUnknown) return false;
    if (this.#rate.msLeft > 0) return this.#awaitTurn();
    if (priority === 'batch' || this.#isDraining) return this.#inFlight < this.maxInFlight;
    const most = this.#limit.maxInFlight + Math.max(1, Math.ceil(this.slots / 8));
    const { reason } = this.health.breaker;
    if (reason === 'asked') return false;
    return this.#inFlight < (reason === 'certain' ? 1 : most);
  }

  /** @param isTrial whether what comes of it tells others that it works again, or does not yet */
  sent(isTrial: boolean): Sent {
    const sent = this.#limit.sent(this.#others);
    if (isTrial) this.#trial = sent;
    this.#inFlight++;
    this.#calls++;
    this.#rate.sent();
    return sent;
  }

  /** A call is over. */
  left(): void {
    if (--this.#calls === 0) this.#onEnd?.();
  }

  /** Resolves when the last call is over; it gets none any more. */
  async end(): Promise<void> {
    this.stop();
    if (this.#calls === 0) return;
    await new Promise<void>((resolve) => (this.#onEnd = resolve));
  }

  /** Who may not be sent yet waits for his turn in the pool. */
  #awaitTurn(): false {
    this.#turn ??= this.#parts.clock.after(this.#rate.msLeft, () => {
      this.#turn = null;
      this.#parts.onChange();
    });
    return false;
  }

  #left(sent: Sent): void {
    this.#inFlight--;
    if (this.#trial === sent) this.#trial = null;
  }

  answered(sent: Sent, work: number): void {
    const isFull = this.#inFlight + this.#others >= this.#limit.maxInFlight * full;
    this.#left(sent);
    const at = this.#cameAt(sent);
    const pace = (at - sent.at) / work;
    this.pace = this.pace === 0 ? pace : this.pace + (pace - this.pace) * newest;
    this.health.completed();
    this.#tolerance.answered();
    this.#limit.answered(sent, { at, work, isFull });
  }

  /** While this process has more to do than it can, it is what limits them: at least half the time is not taken for its own. */
  #cameAt(sent: Sent): number {
    const { clock } = this.#parts;
    return Math.max(clock.arrival(), (sent.at + clock.monotonic()) / 2);
  }

  /** True where this line would be the first request after a pause, and a minimal request can take its place. */
  isTestedBefore(sent: Sent): boolean {
    return this.#trial === sent && this.health.isTestable;
  }

  /** Sends a minimal request in the place of a line. @returns the server's failure, or null where it works again */
  async tryOut(sent: Sent, slackMs: number | undefined): Promise<ApiError | null> {
    const error = await this.health.tryOut(slackMs);
    if (this.#trial === sent) this.#trial = null;
    return error;
  }

  /** @param call the failed call; its slack is the time until its answer is of no use, absent for interactive requests */
  failed(sent: Sent, error: ApiError, { slackMs, isLine, isRepeat }: FailedCall = {}): void {
    const isTrial = this.#trial === sent;
    const { unverifiedShare: surplus } = this.#limit;
    this.#left(sent);
    this.#limit.dropped(sent);
    if (error.blame.scope === 'request') return error.blame.retry ? undefined : this.health.responded();
    if (error.code === 'engine_overloaded') {
      if (!isTrial && this.#isStray()) return;
      // A line that is refused alone, or again, says nothing about the server's slots.
      const isItsOwn = isLine && error.blame.scope === 'replica' && (isRepeat || this.#inFlight === 0);
      if (!isItsOwn) this.#refused(sent, error);
    }
    // Who is refused again and again, and comes back at once, would keep all others from trying.
    if (!error.blame.certain && !isTrial && this.health.breaker.state !== 'up') return;
    this.health.failed(error, {
      sentAt: sent.at,
      unverifiedShare: surplus,
      slackMs,
      isLine: isLine && !isTrial,
      isRepeat,
    });
    if (!error.blame.certain) this.health.probeOnce();
  }

  /** Whether a refusal tells nothing of what it takes: it works on others, and nothing is known of a rate. */
  #isStray(): boolean {
    const works = this.isUp && this.#inFlight > 0 && !this.#rate.isKnown;
    return works && this.#tolerance.spend();
  }

  /** It has too many at once, or its rate is exceeded: a pause that is asked for though it is not full tells which. */
  #refused(sent: Sent, { retryAfter }: ApiError): void {
    // What came before it was there already; what it has left may be refused as well.
    const atMost = Math.min(sent.inFlight - 1, this.#inFlight + this.#others);
    if (!this.#rate.isKnown) this.#limit.refused(atMost);
    if (retryAfter) this.#rate.refused(sent.at);
  }

  /** Given up by whoever asked. */
  dropped(sent: Sent): void {
    this.#left(sent);
    this.#limit.dropped(sent);
  }

  stop(): void {
    this.health.stop();
    this.#turn?.cancel();
  }
}

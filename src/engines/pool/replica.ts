import type { Timer } from '../../base/clock.ts';
import type { ApiError } from '../../core/errors.ts';
import type { OpenBreaker } from '../../core/slot-leases.ts';
import type { ReplicaState } from '../../core/replica-state.ts';
import type { Engine, EngineCall } from '../engines.ts';
import type { Candidate } from './choose-replica.ts';
import { Canary } from './concurrency/canary.ts';
import type { SentRequest } from './concurrency/measurement.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency/concurrency-limit.ts';
import { createRateLimit, type RateLimit } from './concurrency/rate-limit.ts';
import { type FailedCall, Health, type ReplicaDeps } from './health/health.ts';
import { RefusalBudget } from './health/refusal-budget.ts';
import { averagePace } from './pace.ts';
import { SlowdownLimit, type YieldingCall } from './slowdown/slowdown-limit.ts';

/** Settings of one server of a model. The engine is its identity. */
export interface ReplicaOptions {
  /** Address without credentials, for logs and operators. */
  name: string;
  engine: Engine;
  /** Replicas of one account fail together where its credentials are refused. */
  account: string;
  /** Factor on the load that its slots suggest. */
  weight: number;
  /** True for a server that gets no new requests, by the configuration. */
  isDraining: boolean;
  /** Slots discovered earlier, where the server does not report them. */
  slotsBefore?: number | undefined;
}

interface Deps extends ReplicaDeps {
  /** True where other processes use the same servers. */
  isShared: boolean;
  /** Factor on the time of interactive requests that lines may cause; `Infinity` for any. */
  maxSlowdown: number;
  /** Number of `slots` that lines of this process get alongside any interactive requests. */
  lineFloor: (slots: number) => number;
  /** Called when the server is done with a request. */
  onLeft: (sent: SentRequest) => void;
}

/** One server of a model: its load and its limits. */
export class Replica implements Candidate {
  readonly name: string;
  readonly engine: Engine;
  readonly account: string;
  readonly health: Health;
  /** Recent milliseconds per unit of work; 0 while unknown. */
  pace = 0;
  slowness = 1;
  readonly rank: number;
  #inFlight = 0;
  /** Requests of other processes in flight at the server. */
  #others = 0;
  #weight: number;
  /** Drained by the configuration, and by an operator. */
  #drainedBy = { config: false, operator: false };
  /** Epoch milliseconds; null for a server that gets requests. */
  drainingSince: number | null = null;
  /** An operator's cap on the requests in flight. */
  #cap = Infinity;
  /** Monotonic milliseconds until which an earlier cap limited the requests in flight. */
  #cappedUntil = -Infinity;
  readonly #limit: ConcurrencyLimit;
  readonly #canary: Canary;
  readonly #slowdown: SlowdownLimit;
  readonly #rate: RateLimit;
  readonly #refusals = new RefusalBudget();
  #turn: Timer | null = null;
  readonly #deps: Deps;
  /** Calls that are not over, including those whose server is done. */
  #calls = 0;
  #onEnd: (() => void) | null = null;
  #isSeeded = false;
  /** The one request that tries a half-open server. */
  #trial: SentRequest | null = null;

  constructor(options: ReplicaOptions, deps: Deps) {
    const { name, engine, account, weight, isDraining, slotsBefore } = options;
    const now = () => deps.clock.monotonic();
    this.name = name;
    this.engine = engine;
    this.account = account;
    this.#weight = weight;
    this.#deps = deps;
    this.rank = deps.isShared ? deps.random.float() : 0;
    this.#setDrained({ config: isDraining, operator: false });
    this.#limit = createConcurrencyLimit(engine.slots, now, slotsBefore);
    this.#rate = createRateLimit(now);
    this.#slowdown = new SlowdownLimit({
      maxSlowdown: deps.maxSlowdown,
      clock: deps.clock,
      floor: () => deps.lineFloor(this.slots),
      limit: () => this.slots,
      isSearching: () => this.discovered !== null,
      onRoom: deps.onChange,
    });
    this.#canary = new Canary({
      engine,
      clock: deps.clock,
      step: () =>
        this.isUp && !this.#isCapped && !this.#slowdown.isHoldingBack ? this.#limit.canaryStep() : null,
      onPace: (step, pace) => {
        // The requests that it ran with have changed.
        if (this.#slowdown.isHoldingBack) return;
        if (pace) this.#slowdown.measured(pace);
        this.#limit.canaryReturned(step, pace);
        deps.onChange();
      },
    });
    this.health = new Health(name, engine, {
      ...deps,
      inFlight: () => this.#inFlight,
      onReport: (report) => this.#limit.applyReport(report),
      onPause: (ms) => this.#rate.paused(ms),
    });
    engine.onRateLimit?.((status) => this.#rate.reported(status));
  }

  /** Applies the settings that may change at run time. */
  set({ weight, isDraining }: Pick<ReplicaOptions, 'weight' | 'isDraining'>): void {
    this.#weight = weight;
    this.#setDrained({ ...this.#drainedBy, config: isDraining });
  }

  /** Applies an operator's drain. */
  drain(isDrained: boolean): void {
    this.#setDrained({ ...this.#drainedBy, operator: isDrained });
  }

  /** Applies an operator's cap; null for none. Requests in flight above it are not aborted. */
  cap(maxInFlight: number | null): void {
    const cap = maxInFlight ?? Infinity;
    if (cap === this.#cap) return;
    if (this.#isCapped) this.#cappedUntil = this.#deps.clock.monotonic();
    this.#cap = cap;
  }

  /** True while the cap, and not the server, limits the requests in flight. */
  get #isCapped(): boolean {
    return this.#cap < this.#limit.maxInFlight;
  }

  #setDrained(by: { config: boolean; operator: boolean }): void {
    this.#drainedBy = by;
    this.drainingSince = by.config || by.operator ? (this.drainingSince ?? this.#deps.clock.now()) : null;
  }

  get #isDraining(): boolean {
    return this.drainingSince !== null;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get slots(): number {
    return Math.min(this.#limit.slots, this.#cap);
  }

  /** Discovered limit; null where the server reports its slots. */
  get discovered(): number | null {
    return this.#limit.discovered;
  }

  /**
   * Applies the state of other processes.
   * @param others their lines at the server
   * @param peerLimit limit that one of them discovers for all; null if none does
   * @param lastLimit limit remembered from earlier, to start from; undefined if not read yet
   * @param interactive their interactive requests
   */
  share(
    others: number,
    peerLimit: number | null,
    lastLimit: number | null | undefined,
    interactive: number,
  ): void {
    this.#others = others;
    this.#slowdown.share(others, interactive);
    // After the first one, this process has a limit of its own to start from.
    if (lastLimit && !this.#isSeeded) this.#limit.seed(lastLimit);
    this.#isSeeded ||= lastLimit !== undefined;
    this.#limit.followPeer(peerLimit);
  }

  /** Outage that this process observed, for its peers. */
  get openForPeers(): OpenBreaker | null {
    return this.#isDraining ? null : this.health.breaker.openForPeers;
  }

  /** Applies a peer's finding, unless the server is working on requests of this process. */
  applyPeerReport(closed: OpenBreaker | undefined): void {
    if (closed && !(this.isUp && this.#inFlight > 0)) this.health.applyPeerReport(closed);
  }

  /** Requests that may be in flight while the server is up. */
  get #limitInFlight(): number {
    return Math.min(this.#limit.maxInFlight, this.#cap);
  }

  get capacity(): number {
    return this.#limitInFlight * this.#weight;
  }

  get isUp(): boolean {
    return !this.#isDraining && this.health.breaker.state === 'up';
  }

  /**
   * True where the server is half-open, its rate permits a request and no trial is under way. Such a request is never refused:
   * a line that is sent and refused in a loop would block the process.
   */
  get wantsTrial(): boolean {
    if (this.#isDraining || this.#trial || this.isUnknown || this.health.breaker.state !== 'half-open')
      return false;
    // Requests in flight, of which interactive ones alone may fill the slots, show as much as a trial.
    if (this.#inFlight >= this.#limitInFlight) return false;
    return this.#rate.msLeft === 0 || this.#awaitTurn();
  }

  /** Limit of requests in flight up to which batch lines are sent. */
  get maxInFlight(): number {
    if (this.#isDraining) return 0;
    if (this.health.breaker.state === 'up') return this.#limitInFlight;
    return this.wantsTrial ? this.#inFlight + 1 : 0;
  }

  /** Limit of the lines of all processes alongside the interactive requests at the server. */
  get maxLines(): number {
    return Math.min(this.maxInFlight, this.#slowdown.maxLines);
  }

  get isUnknown(): boolean {
    return this.health.isUnknown;
  }

  /** True while the breaker is open because of failures that the requests may have caused. */
  get isSuspected(): boolean {
    return !this.#isDraining && this.health.breaker.reason === 'suspected';
  }

  get state(): ReplicaState {
    const { state: health, waiting } = this.health.breaker;
    const { name, slots, discovered, inFlight } = this;
    const configured = this.engine.slots;
    return {
      name,
      health: this.#isDraining ? 'draining' : health,
      slots,
      configured,
      discovered,
      inFlight,
      gaveWay: this.#slowdown.gaveWay,
      slowdown: this.#slowdown.current,
      waiting,
    };
  }

  /**
   * True if a request may be sent now. Interactive requests exceed the limit that batches fill, but no cap, and are sent on a
   * suspicion, because the requests of others may have caused it.
   * @param isOwed true for a line that does not give way to interactive requests: it may exceed the limit as they do
   */
  accepts(priority: EngineCall['priority'], isOwed = false): boolean {
    if (this.isUnknown || this.#inFlight >= this.#cap) return false;
    if (this.#rate.msLeft > 0) return this.#awaitTurn();
    const reserve = Math.max(1, Math.ceil(this.slots / 8));
    if (priority === 'batch' && !isOwed && this.isUp && !this.#slowdown.hasRoom) return false;
    if (priority === 'batch' || this.#isDraining)
      return this.#inFlight < this.maxInFlight + (isOwed && this.isUp ? reserve : 0);
    const { reason } = this.health.breaker;
    // Batches of all processes divide the cap among them; single requests take what the others leave.
    if (reason === 'retry-after' || this.#inFlight + this.#others >= this.#cap) return false;
    return this.#inFlight < (reason === 'certain' ? 1 : this.#limit.maxInFlight + reserve);
  }

  /** @param isTrial true for the request whose outcome decides about a half-open server */
  sent(priority: EngineCall['priority'], isTrial: boolean): SentRequest {
    const sent = this.#limit.sent(this.#others);
    this.#slowdown.sent(sent, priority === 'batch', this.#others);
    if (isTrial) this.#trial = sent;
    this.#inFlight++;
    this.#calls++;
    this.#rate.sent();
    this.#canary.look();
    return sent;
  }

  /** Lets a line give way to interactive requests; null for one that keeps its place. @param timesYielded so far */
  yielding(sent: SentRequest, signal: AbortSignal, timesYielded: number): YieldingCall | null {
    return this.#slowdown.yielding(sent, signal, timesYielded);
  }

  callEnded(): void {
    if (--this.#calls === 0) this.#onEnd?.();
  }

  /** Takes no more calls. Resolves when the last one has ended. */
  async end(): Promise<void> {
    this.stop();
    if (this.#calls === 0) return;
    await new Promise<void>((resolve) => (this.#onEnd = resolve));
  }

  /** Wakes the pool's queue when the rate permits the next request. */
  #awaitTurn(): false {
    this.#turn ??= this.#deps.clock.after(this.#rate.msLeft, () => {
      this.#turn = null;
      this.#deps.onChange();
    });
    return false;
  }

  #left(sent: SentRequest): void {
    this.#inFlight--;
    this.#slowdown.left(sent);
    this.#deps.onLeft(sent);
    if (this.#trial === sent) this.#trial = null;
  }

  answered(sent: SentRequest, work: number): void {
    const { clock } = this.#deps;
    // A busy process reads answers late; at least half of the elapsed time is still attributed to the server.
    const at = Math.max(clock.arrival(), (sent.at + clock.monotonic()) / 2);
    const pace = (at - sent.at) / work;
    this.#slowdown.answered(sent, at - sent.at, work);
    this.#left(sent);
    this.pace = averagePace(this.pace, pace);
    this.health.completed();
    this.#refusals.answered();
    // The server had fewer requests than it can take, so the answer says nothing about its slots.
    const wasKeptDown = this.#isCapped || sent.at < this.#cappedUntil || this.#slowdown.hasHeldBack(sent.at);
    if (wasKeptDown) this.#limit.dropped(sent);
    else this.#limit.answered(sent, { at, work });
    this.#canary.look();
  }

  /** True where this line is the trial of a half-open server and a minimal request can take its place. */
  isTestedBefore(sent: SentRequest): boolean {
    return this.#trial === sent && this.health.isTestable;
  }

  /** Sends a minimal request in place of a line. @returns the server's failure; null where it works again */
  async tryOut(sent: SentRequest, slackMs: number | undefined): Promise<ApiError | null> {
    // The minimal request takes the line's turn in the rate. If the server refuses it, the rate had no room.
    this.#rate.refused(sent.at);
    const error = await this.health.tryOut(slackMs);
    if (!error) this.#rate.sent();
    if (this.#trial === sent) this.#trial = null;
    return error;
  }

  /** @param call `slackMs`: time until its answer is useless, absent for interactive requests */
  failed(sent: SentRequest, error: ApiError, { slackMs, isLine, isRepeat }: FailedCall = {}): void {
    const isTrial = this.#trial === sent;
    const { unverifiedShare } = this.#limit;
    this.dropped(sent);
    const { scope, certain, retry } = error.blame;
    if (scope === 'request') return retry ? undefined : this.health.responded();
    if (error.code === 'engine_overloaded') {
      // Even if the request is at fault, the server's rate had no room for it.
      if (error.retryAfter) this.#rate.refused(sent.at);
      // A refusal carries no signal if the server works on other requests and has no known rate limit.
      const works = !isTrial && this.isUp && this.#inFlight > 0 && !this.#rate.isKnown;
      if (works && this.#refusals.spend()) return;
      // A line that is refused alone, or again, says nothing about the server's slots.
      const isLineFault = isLine && scope === 'replica' && (isRepeat || this.#inFlight === 0);
      if (!isLineFault) this.#refused(sent);
    }
    // Requests that fail and are retried at once must not postpone the trial.
    if (!certain && !isTrial && this.health.breaker.state !== 'up') return;
    const mayBlameLine = isLine && !isTrial;
    this.health.failed(error, { sentAt: sent.at, unverifiedShare, slackMs, isLine: mayBlameLine, isRepeat });
    if (!certain) this.health.probeOnce();
  }

  /** Handles a refusal for too many concurrent requests. A server with a rate refuses for exceeding that. */
  #refused(sent: SentRequest): void {
    if (this.#rate.isKnown) return;
    // Requests sent earlier were at the server already; a slot freed since may be refused as well.
    this.#limit.refused(Math.min(sent.inFlight - 1, this.#inFlight + this.#others));
  }

  /** Handles a call that its caller gave up. */
  dropped(sent: SentRequest): void {
    this.#left(sent);
    this.#limit.dropped(sent);
  }

  stop(): void {
    this.health.stop();
    this.#canary.stop();
    this.#slowdown.stop();
    this.#turn?.cancel();
  }
}

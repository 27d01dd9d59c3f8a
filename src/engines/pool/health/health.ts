import { backoffMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Closed } from '../../../core/slot-leases.ts';
import type { Engine, ProbeReport } from '../../engines.ts';
import { type Breaker, createBreaker, type RequestFailure } from './breaker.ts';

export interface ReplicaDeps {
  clock: Clock;
  random: Random;
  log: Log;
  /** How long batches have. */
  windowMs: number;
  /** It may have more room than before, or none any more. */
  onChange: () => void;
  /** Called after a minimal request, with its time and whether it was answered. */
  onTested: (at: number, works: boolean) => void;
}

/** A request that failed. */
interface FailedHere extends Omit<RequestFailure, 'others'> {
  /** A batch line, whose failure may be its own: a minimal request decides. */
  isLine?: boolean;
  /** A line that failed before. */
  isRepeat?: boolean | undefined;
}

export interface HealthDeps extends ReplicaDeps {
  /** How many requests it works on. */
  inFlight: () => number;
  /** It told how it is. */
  onReport: (report: ProbeReport) => void;
  /** It asked for a pause of so many milliseconds. */
  onPause: (ms: number) => void;
}

/** How often a server is asked while it has work: one that tells how much waits there, and one that tells its slots alone. */
const reportMs = { queue: 1_000, slots: 30_000 } as const;
/** Time limit of a minimal request, and the shortest time between two, in milliseconds. */
const tryMs = { longest: 60_000, between: 400 } as const;
/** Failures in a row after which a minimal request is sent, whatever else is in flight. */
const unanswered = 3;
/** How often a server is asked that declines, before it answered anything; requests may try it meanwhile. */
const declinedPauses = { initialMs: 2_000, maxMs: 5 * 60_000 };

/** Whether one server works: by what comes of its requests, and by what it says when it is asked. */
export class Health {
  readonly #name: string;
  readonly #engine: Engine;
  readonly #parts: HealthDeps;
  readonly breaker: Breaker;
  #wake: Timer | null = null;
  #report: Timer | null = null;
  #isStopped = false;
  /** Whether it was logged that it takes nothing. */
  #isSaid = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** How often it is asked while it has work; null where it tells nothing that changes. */
  #everyMs: number | null = null;
  /** Whether it said, before it answered anything, that it takes nothing: while nobody asks, only it can tell that this is over. */
  #declines = false;
  /** How often it said so where a request might have tried. */
  #declined = 0;
  /** Whether a request had a whole answer. */
  #hasAnswered = false;
  /** It was away whenever it was asked what it is: nobody knows what it can. */
  #isUnseen = false;
  /** Whether its last failure is one of which it says nothing when it is asked. */
  #isHidden = false;
  /** False where a minimal request might pass although the server is at fault, as with a rate limit. */
  #isTold = true;
  #trial: Promise<ApiError | null> | null = null;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failuresInRow = 0;

  constructor(name: string, engine: Engine, parts: HealthDeps) {
    this.#name = name;
    this.#engine = engine;
    this.#parts = parts;
    this.breaker = createBreaker(parts.clock, () => parts.random.float(), parts.windowMs);
  }

  /** Whether it is sent nothing because nobody knows what it can: it is asked what it is when its pause is over. */
  get isUnknown(): boolean {
    return this.#isUnseen;
  }

  /** Another process found that it takes nothing. */
  applyPeerReport(closed: Closed): void {
    if (this.#isStopped || !this.breaker.applyPeerReport(closed)) return;
    this.#wakeIn(this.breaker.msLeft);
    this.#parts.log.debug(
      { upstream: this.#name, ...closed },
      'another process found that the server takes nothing',
    );
    this.#parts.onChange();
  }

  /** Something of an answer has come: it works. */
  responded(): void {
    const wasUp = this.breaker.state === 'up';
    this.#declines = false;
    this.#declined = 0;
    this.#isUnseen = false;
    this.#isHidden = false;
    this.#isTold = true;
    this.#failuresInRow = 0;
    this.breaker.answered();
    // An answer ends no pause that it asked for; the first one after it tells that it is over.
    if (this.breaker.state !== 'up' || (wasUp && !this.#isSaid)) return;
    this.#isSaid = false;
    this.#parts.log.info({ upstream: this.#name }, 'the server takes requests again');
    // It may have been started with other settings.
    this.probeOnce();
    this.#parts.onChange();
  }

  /** A whole answer has come. */
  completed(): void {
    this.#hasAnswered = true;
    this.responded();
    this.#watch();
  }

  /**
   * It does not work, as a request has found that is in flight no more, or what it said of itself.
   */
  failed(error: ApiError, request: Partial<FailedHere> = {}): void {
    if (this.#isStopped) return;
    const { clock, inFlight, onChange, onPause } = this.#parts;
    const others = request.isMinimal ? 0 : inFlight();
    if (request.isLine && this.#isOnesOwn(error, others, request)) return;
    this.#isHidden = error.blame.hidden === true;
    this.#isTold = isToldByLeast(error);
    const isNews = this.breaker.failed(error, {
      sentAt: clock.monotonic(),
      unverifiedShare: 0,
      ...request,
      others,
    });
    const { msLeft } = this.breaker;
    if (msLeft > 0) this.#wakeIn(msLeft);
    if (isNews && this.breaker.reason === 'asked') onPause(msLeft);
    // A minimal request that is under way decides in a moment.
    const isOpen = this.#trial === null ? isNews : request.isMinimal && msLeft > 0;
    if (isOpen) this.#say(error);
    if (isNews) onChange();
  }

  /**
   * True where the failure of a line says nothing about the server: the line was the only request, or failed before. A minimal request
   * is sent instead, and also after several failures in a row.
   */
  #isOnesOwn(error: ApiError, others: number, { isRepeat = false, slackMs }: Partial<FailedHere>): boolean {
    if (!mayBeItsRequests(error) || this.breaker.state !== 'up') return false;
    this.#failuresInRow++;
    const isAlone = others === 0;
    if (isAlone || this.#failuresInRow >= unanswered) this.#tryAgain(slackMs);
    return isAlone || isRepeat;
  }

  #tryAgain(slackMs: number | undefined): void {
    if (this.#parts.clock.monotonic() - this.#triedAt >= tryMs.between) void this.tryOut(slackMs);
  }

  /**
   * Sends a minimal request; calls at the same time share one.
   * @param slackMs the time that the waiting line has left
   * @returns the server's failure, or null where it works
   */
  tryOut(slackMs: number | undefined): Promise<ApiError | null> {
    this.#trial ??= this.#tryOut(slackMs).finally(() => (this.#trial = null));
    return this.#trial;
  }

  async #tryOut(slackMs: number | undefined): Promise<ApiError | null> {
    const { clock, onTested: onTried } = this.#parts;
    const at = clock.monotonic();
    this.#triedAt = at;
    const giveUp = new AbortController();
    const silent = new ApiError('upstream_timeout', "The model's server does not answer.");
    const timer = clock.after(tryMs.longest, () => giveUp.abort(silent));
    try {
      await this.#engine.tryOut(giveUp.signal);
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : silent;
      // A server that refuses the request itself works.
      if (error.blame.scope !== 'request') {
        onTried(at, false);
        this.failed(error, { sentAt: at, isMinimal: true, slackMs });
        return error;
      }
    } finally {
      timer.cancel();
    }
    if (!this.#isStopped) {
      // Failures during the minimal request count as failures beside it.
      onTried(clock.monotonic(), true);
      this.responded();
    }
    return null;
  }

  /** True where a minimal request can show that the last failure is over. */
  get isTestable(): boolean {
    return this.#isTold;
  }

  #say(error: ApiError): void {
    const { log } = this.#parts;
    const told = {
      upstream: this.#name,
      code: error.code,
      scope: error.blame.scope,
      wait_ms: Math.round(this.breaker.msLeft),
      ...reasonOf(error),
    };
    // Said once, not at each try.
    log[this.#isSaid ? 'debug' : 'warn'](told, `the server takes no requests: ${error.message}`);
    this.#isSaid = true;
  }

  /** Asks the server how it is. Where requests fail and it is well all the same, they may be at fault themselves. */
  async probe(): Promise<void> {
    if (this.#isStopped) return;
    try {
      const report = await this.#engine.probe();
      this.#parts.onReport(report);
      this.breaker.reportedHealthy(!this.#isHidden);
      if (this.#declines || this.#isUnseen) this.responded();
      this.#parts.onChange();
      // Where it only did not say so this once, it is asked again.
      if (report.queued !== null) this.#everyMs = reportMs.queue;
      else if (report.slots !== null && this.#engine.slots === null) this.#everyMs ??= reportMs.slots;
      this.#watch();
    } catch (error) {
      this.breaker.reportedHealthy(false);
      this.#isUnseen = false;
      if (this.#isStopped || !(error instanceof ApiError) || !error.blame.certain) return;
      const isNoModel = error.code === 'model_not_found';
      // What it answers with a model outweighs what it says of it.
      if (this.#hasAnswered && error.blame.scope !== 'replica') return;
      this.#declines = !this.#hasAnswered && (this.#declines || isNoModel || this.#parts.inFlight() === 0);
      // Where somebody answers, if only that it may not be asked that, requests find out what it can.
      this.#isUnseen = error.code === 'upstream_unreachable' && this.#engine.capabilities.isGuess === true;
      if (isNoModel || !this.#declines || this.#isUnseen || this.breaker.state !== 'half-open')
        return this.failed(error);
      // It may decline that question alone, so that the next request still tries.
      this.breaker.setCause(error);
      this.#wakeIn(backoffMs(++this.#declined, declinedPauses, this.#parts.random.float()));
    }
  }

  /** Failures come in swarms; one look tells of all. */
  probeOnce(): void {
    const now = this.#parts.clock.monotonic();
    if (now - this.#lookedAt < reportMs.queue) return;
    this.#lookedAt = now;
    void this.probe();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake?.cancel();
    this.#report?.cancel();
  }

  /** A pause may have become longer. */
  #wakeIn(ms: number): void {
    this.#wake?.cancel();
    this.#wake = this.#parts.clock.after(ms, () => {
      if (this.#declines || this.#isUnseen) void this.probe();
      this.#parts.onChange();
    });
  }

  /** It is asked again and again for as long as it has work. */
  #watch(): void {
    if (this.#everyMs === null || this.#report || this.#isStopped || this.#parts.inFlight() === 0) return;
    this.#report = this.#parts.clock.after(this.#everyMs, () => {
      this.#report = null;
      void this.probe();
    });
  }
}

/** True for failures that a minimal request would meet as well. A rate limit, or the rest of a credit, may let it pass. */
function isToldByLeast({ code, blame }: ApiError): boolean {
  return !blame.hidden && !(code === 'engine_overloaded' && blame.scope === 'model');
}

/** True for failures that may be the request's own. Gateways answer 503 for any failure of their servers. */
function mayBeItsRequests(error: ApiError): boolean {
  return isToldByLeast(error) && (!error.blame.certain || error.code === 'engine_overloaded');
}

/** What the system or TLS calls it: no client is told, and an operator has nothing else to go by. */
function reasonOf({ cause }: ApiError): { reason?: string } {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string'
    ? { reason: cause.code }
    : {};
}

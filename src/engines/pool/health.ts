import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { ApiError } from '../../core/errors.ts';
import type { Closed } from '../../core/slot-leases.ts';
import type { Engine, Report } from '../engines.ts';
import { type Breaker, createBreaker, type Failed } from './breaker.ts';

export interface ServerParts {
  clock: Clock;
  random: Random;
  log: Log;
  /** How long batches have. */
  windowMs: number;
  /** It may have more room than before, or none any more. */
  onChange: () => void;
  /** It says of itself that it is well. */
  onWell: () => void;
}

export interface HealthParts extends ServerParts {
  /** How many requests it works on. */
  inFlight: () => number;
  /** It told how it is. */
  onReport: (report: Report) => void;
  /** It asked for a pause of so many milliseconds. */
  onPause: (ms: number) => void;
}

/** How often a server is asked while it has work: one that tells how much waits there, and one that tells its slots alone. */
const reportMs = { queue: 1_000, slots: 30_000 } as const;
/** How often a server is asked that declines, before it answered anything; requests may try it meanwhile. */
const declinedPauses = { firstMs: 2_000, longestMs: 5 * 60_000 };

/** Whether one server works: by what comes of its requests, and by what it says when it is asked. */
export class Health {
  readonly #name: string;
  readonly #engine: Engine;
  readonly #parts: HealthParts;
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

  constructor(name: string, engine: Engine, parts: HealthParts) {
    this.#name = name;
    this.#engine = engine;
    this.#parts = parts;
    this.breaker = createBreaker(parts.clock, () => parts.random.float(), parts.windowMs);
  }

  /** Whether it is sent nothing because nobody knows what it can: it is asked what it is when its pause is over. */
  get isUnseen(): boolean {
    return this.#isUnseen;
  }

  /** Another process found that it takes nothing. */
  heard(closed: Closed): void {
    if (this.#isStopped || !this.breaker.heard(closed)) return;
    this.#wakeIn(this.breaker.msLeft);
    this.#parts.log.debug(
      { upstream: this.#name, ...closed },
      'another process found that the server takes nothing',
    );
    this.#parts.onChange();
  }

  /** Something of an answer has come: it works. */
  answers(): void {
    const wasUp = this.breaker.health === 'up';
    this.#declines = false;
    this.#declined = 0;
    this.#isUnseen = false;
    this.#isHidden = false;
    this.breaker.answered();
    // An answer ends no pause that it asked for; the first one after it tells that it is over.
    if (this.breaker.health !== 'up' || (wasUp && !this.#isSaid)) return;
    this.#isSaid = false;
    this.#parts.log.info({ upstream: this.#name }, 'the server takes requests again');
    // It may have been started with other settings.
    this.lookOnce();
    this.#parts.onChange();
  }

  /** A whole answer has come. */
  answered(): void {
    this.#hasAnswered = true;
    this.answers();
    this.#watch();
  }

  /**
   * It does not work, as a request has found that is in flight no more, or what it said of itself.
   */
  failed(error: ApiError, request: Partial<Omit<Failed, 'others'>> = {}): void {
    if (this.#isStopped) return;
    const { clock, log, inFlight, onChange, onPause } = this.#parts;
    this.#isHidden = error.blame.hidden === true;
    const others = inFlight();
    const isNews = this.breaker.failed(error, { sentAt: clock.monotonic(), surplus: 0, ...request, others });
    const { msLeft } = this.breaker;
    if (msLeft > 0) this.#wakeIn(msLeft);
    if (!isNews) return;
    if (this.breaker.reason === 'asked') onPause(msLeft);
    const told = {
      upstream: this.#name,
      code: error.code,
      scope: error.blame.scope,
      wait_ms: Math.round(msLeft),
      ...reasonOf(error),
    };
    // Said once, not at each try.
    log[this.#isSaid ? 'debug' : 'warn'](told, `the server takes no requests: ${error.message}`);
    this.#isSaid = true;
    onChange();
  }

  /** Asks the server how it is. Where requests fail and it is well all the same, they may be at fault themselves. */
  async look(): Promise<void> {
    if (this.#isStopped) return;
    try {
      const report = await this.#engine.probe();
      this.#parts.onReport(report);
      this.breaker.said(!this.#isHidden);
      if (this.#declines || this.#isUnseen) this.answers();
      if (!this.#isHidden) this.#parts.onWell();
      this.#parts.onChange();
      // Where it only did not say so this once, it is asked again.
      if (report.queued !== null) this.#everyMs = reportMs.queue;
      else if (report.slots !== null && this.#engine.slots === null) this.#everyMs ??= reportMs.slots;
      this.#watch();
    } catch (error) {
      this.breaker.said(false);
      this.#isUnseen = false;
      if (this.#isStopped || !(error instanceof ApiError) || !error.blame.certain) return;
      const isNoModel = error.code === 'model_not_found';
      // What it answers with a model outweighs what it says of it.
      if (this.#hasAnswered && error.blame.scope !== 'replica') return;
      this.#declines = !this.#hasAnswered && (this.#declines || isNoModel || this.#parts.inFlight() === 0);
      // Where somebody answers, if only that it may not be asked that, requests find out what it can.
      this.#isUnseen = error.code === 'upstream_unreachable' && this.#engine.capabilities.isGuess === true;
      if (isNoModel || !this.#declines || this.#isUnseen || this.breaker.health !== 'half-open')
        return this.failed(error);
      // It may decline that question alone, so that the next request still tries.
      this.breaker.noted(error);
      this.#wakeIn(backoffMs(++this.#declined, declinedPauses, this.#parts.random.float()));
    }
  }

  /** Failures come in swarms; one look tells of all. */
  lookOnce(): void {
    const now = this.#parts.clock.monotonic();
    if (now - this.#lookedAt < reportMs.queue) return;
    this.#lookedAt = now;
    void this.look();
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
      if (this.#declines || this.#isUnseen) void this.look();
      this.#parts.onChange();
    });
  }

  /** It is asked again and again for as long as it has work. */
  #watch(): void {
    if (this.#everyMs === null || this.#report || this.#isStopped || this.#parts.inFlight() === 0) return;
    this.#report = this.#parts.clock.after(this.#everyMs, () => {
      this.#report = null;
      void this.look();
    });
  }
}

/** What the system or TLS calls it: no client is told, and an operator has nothing else to go by. */
function reasonOf({ cause }: ApiError): { reason?: string } {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string'
    ? { reason: cause.code }
    : {};
}

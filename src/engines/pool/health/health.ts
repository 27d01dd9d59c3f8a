import { backoffMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { ApiError } from '../../../core/errors.ts';
import type { OpenBreaker } from '../../../core/slot-leases.ts';
import type { Engine, ProbeReport } from '../../engines.ts';
import { type Breaker, createBreaker, type RequestFailure } from './breaker.ts';

export interface ReplicaDeps {
  clock: Clock;
  random: Random;
  log: Log;
  /** Shortest window of the batches, in milliseconds. */
  windowMs: number;
  /** Called when the server may take more requests than before, or none any more. */
  onChange: () => void;
  /** Called after a minimal request. */
  onTested: (at: number, works: boolean) => void;
}

interface ReportedFailure extends Omit<RequestFailure, 'others'> {
  /** True for a batch line, which may be at fault itself: a minimal request decides. */
  isLine?: boolean;
  /** True for a line that failed before. */
  isRepeat?: boolean | undefined;
}

export type FailedCall = Pick<ReportedFailure, 'slackMs' | 'isLine' | 'isRepeat'>;

export interface HealthDeps extends ReplicaDeps {
  inFlight: () => number;
  onReport: (report: ProbeReport) => void;
  /** Called when the server requests a pause (`retry-after`). */
  onPause: (ms: number) => void;
}

/** Intervals of probes while requests are in flight: of a server that reports its queue, and of one that reports only slots. */
const probeMs = { queue: 1_000, slots: 30_000 } as const;
/** Time limit of a minimal request, and the shortest time between two. */
const testMs = { max: 60_000, between: 400 } as const;
/** Failures in a row after which a minimal request is sent, whatever else is in flight. */
const maxFailures = 3;
/** Back-off of probes at a server that rejects them and has not answered a request yet; requests may try it meanwhile. */
const rejectedBackoff = { initialMs: 2_000, maxMs: 5 * 60_000 };

/** Health of one server, from the outcomes of its requests and from probes. */
export class Health {
  readonly #name: string;
  readonly #engine: Engine;
  readonly #deps: HealthDeps;
  readonly breaker: Breaker;
  #wake: Timer | null = null;
  #nextProbe: Timer | null = null;
  #isStopped = false;
  #isLogged = false;
  #probedAt = Number.NEGATIVE_INFINITY;
  /** Interval of probes while requests are in flight; null where the server reports nothing that changes. */
  #probeEveryMs: number | null = null;
  /** True after a rejected probe before the first answer: without requests, only another probe can show recovery. */
  #rejectsProbes = false;
  #rejectedProbes = 0;
  #hasAnswered = false;
  #isUnknown = false;
  /** True where probes cannot show the last failure. */
  #isHiddenFromProbes = false;
  #isTestable = true;
  #testRun: Promise<ApiError | null> | null = null;
  #testedAt = Number.NEGATIVE_INFINITY;
  #failuresInRow = 0;

  constructor(name: string, engine: Engine, deps: HealthDeps) {
    this.#name = name;
    this.#engine = engine;
    this.#deps = deps;
    this.breaker = createBreaker(deps.clock, () => deps.random.float(), deps.windowMs);
  }

  /** True while the server's capabilities are unknown. It gets no requests and is probed again after the back-off. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  applyPeerReport(closed: OpenBreaker): void {
    if (this.#isStopped || !this.breaker.applyPeerReport(closed)) return;
    this.#wakeIn(this.breaker.msLeft);
    this.#deps.log.debug({ upstream: this.#name, ...closed }, 'another process found the server unavailable');
    this.#deps.onChange();
  }

  /** Handles the first output of an answer. */
  responded(): void {
    const wasUp = this.breaker.state === 'up';
    this.#rejectsProbes = false;
    this.#rejectedProbes = 0;
    this.#isUnknown = false;
    this.#isHiddenFromProbes = false;
    this.#isTestable = true;
    this.#failuresInRow = 0;
    this.breaker.answered();
    // An answer does not end a `retry-after`; the first one after it shows that it is over.
    if (this.breaker.state !== 'up' || (wasUp && !this.#isLogged)) return;
    this.#isLogged = false;
    this.#deps.log.info({ upstream: this.#name }, 'the server takes requests again');
    // It may have restarted with other settings.
    this.probeOnce();
    this.#deps.onChange();
  }

  /** Handles a complete answer. */
  completed(): void {
    this.#hasAnswered = true;
    this.responded();
    this.#watch();
  }

  /** Handles a failed request, no longer in flight, or a failed probe. */
  failed(error: ApiError, request: Partial<ReportedFailure> = {}): void {
    if (this.#isStopped) return;
    const { clock, inFlight, onChange, onPause } = this.#deps;
    const others = request.isMinimal ? 0 : inFlight();
    if (request.isLine && this.#isLineFault(error, others, request)) return;
    this.#isHiddenFromProbes = error.blame.hidden === true;
    this.#isTestable = isTestable(error);
    const sentAt = clock.monotonic();
    const hasOpened = this.breaker.failed(error, { sentAt, unverifiedShare: 0, ...request, others });
    const { msLeft } = this.breaker;
    if (msLeft > 0) this.#wakeIn(msLeft);
    if (hasOpened && this.breaker.reason === 'retry-after') onPause(msLeft);
    // While a minimal request is under way, its outcome is logged instead.
    const isOutage = this.#testRun === null ? hasOpened : request.isMinimal && msLeft > 0;
    if (isOutage) this.#logFailure(error);
    if (hasOpened) onChange();
  }

  /**
   * True where the failure of a line says nothing about the server: the line was the only request, or failed before. A minimal
   * request is sent instead, and also after several failures in a row.
   */
  #isLineFault(error: ApiError, others: number, { isRepeat = false, slackMs }: FailedCall): boolean {
    if (!mayBeRequestFault(error) || this.breaker.state !== 'up') return false;
    this.#failuresInRow++;
    const isDue = this.#deps.clock.monotonic() - this.#testedAt >= testMs.between;
    if (isDue && (others === 0 || this.#failuresInRow >= maxFailures)) void this.tryOut(slackMs);
    return others === 0 || isRepeat;
  }

  /** Sends one minimal request at a time, for a line with `slackMs` left. @returns the server's failure; null if it works */
  tryOut(slackMs: number | undefined): Promise<ApiError | null> {
    this.#testRun ??= this.#tryOut(slackMs).finally(() => (this.#testRun = null));
    return this.#testRun;
  }

  async #tryOut(slackMs: number | undefined): Promise<ApiError | null> {
    const { clock, onTested } = this.#deps;
    const sentAt = clock.monotonic();
    this.#testedAt = sentAt;
    const limit = new AbortController();
    const timeout = new ApiError('upstream_timeout', "The model's server does not answer.");
    const timer = clock.after(testMs.max, () => limit.abort(timeout));
    try {
      await this.#engine.tryOut(limit.signal);
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : timeout;
      // A server that blames the request is working.
      if (error.blame.scope !== 'request') {
        onTested(sentAt, false);
        this.failed(error, { sentAt, isMinimal: true, slackMs });
        return error;
      }
    } finally {
      timer.cancel();
    }
    if (!this.#isStopped) {
      // The time of the answer, so that failures during the minimal request are older than its success.
      onTested(clock.monotonic(), true);
      this.responded();
    }
    return null;
  }

  /** True where a minimal request can show that the last failure is over. */
  get isTestable(): boolean {
    return this.#isTestable;
  }

  #logFailure(error: ApiError): void {
    const fields = {
      upstream: this.#name,
      code: error.code,
      scope: error.blame.scope,
      wait_ms: Math.round(this.breaker.msLeft),
      ...systemCode(error),
    };
    // An outage is one warning, however many attempts fail.
    const level = this.#isLogged ? 'debug' : 'warn';
    this.#deps.log[level](fields, `the server takes no requests: ${error.message}`);
    this.#isLogged = true;
  }

  /** Probes the server. If it reports itself healthy while requests fail, the requests may be at fault. */
  async probe(): Promise<void> {
    if (this.#isStopped) return;
    try {
      const report = await this.#engine.probe();
      this.#deps.onReport(report);
      this.breaker.reportedHealthy(!this.#isHiddenFromProbes);
      if (this.#rejectsProbes || this.#isUnknown) this.responded();
      this.#deps.onChange();
      // A single report without these figures does not stop the probes.
      if (report.queued !== null) this.#probeEveryMs = probeMs.queue;
      else if (report.slots !== null && this.#engine.slots === null) this.#probeEveryMs ??= probeMs.slots;
      this.#watch();
    } catch (error) {
      this.breaker.reportedHealthy(false);
      this.#isUnknown = false;
      if (this.#isStopped || !(error instanceof ApiError) || !error.blame.certain) return;
      const isNoModel = error.code === 'model_not_found';
      // A server that has answered requests is up, even if it rejects a probe.
      if (this.#hasAnswered && error.blame.scope !== 'replica') return;
      this.#rejectsProbes =
        !this.#hasAnswered && (this.#rejectsProbes || isNoModel || this.#deps.inFlight() === 0);
      // A server that is reachable may reject only probes; requests then show its capabilities.
      this.#isUnknown = error.code === 'upstream_unreachable' && this.#engine.capabilities.isGuess === true;
      if (isNoModel || !this.#rejectsProbes || this.#isUnknown || this.breaker.state !== 'half-open')
        return this.failed(error);
      this.breaker.setCause(error);
      this.#wakeIn(backoffMs(++this.#rejectedProbes, rejectedBackoff, this.#deps.random.float()));
    }
  }

  /** Probes the server unless a probe began within the last second: failures come in bursts. */
  probeOnce(): void {
    const now = this.#deps.clock.monotonic();
    if (now - this.#probedAt < probeMs.queue) return;
    this.#probedAt = now;
    void this.probe();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake?.cancel();
    this.#nextProbe?.cancel();
  }

  #wakeIn(ms: number): void {
    this.#wake?.cancel();
    this.#wake = this.#deps.clock.after(ms, () => {
      if (this.#rejectsProbes || this.#isUnknown) void this.probe();
      this.#deps.onChange();
    });
  }

  /** Schedules the next probe while requests are in flight. */
  #watch(): void {
    if (this.#probeEveryMs === null || this.#nextProbe || this.#isStopped || this.#deps.inFlight() === 0)
      return;
    this.#nextProbe = this.#deps.clock.after(this.#probeEveryMs, () => {
      this.#nextProbe = null;
      void this.probe();
    });
  }
}

/** True for failures that a minimal request would meet as well. It may pass a rate limit, or need less credit. */
function isTestable({ code, blame }: ApiError): boolean {
  return !blame.hidden && !(code === 'engine_overloaded' && blame.scope === 'model');
}

/** True for failures that the request may have caused. Gateways answer 503 for any failure of their servers. */
function mayBeRequestFault(error: ApiError): boolean {
  return isTestable(error) && (!error.blame.certain || error.code === 'engine_overloaded');
}

/** Error code of the system or of TLS, for the operator only. */
function systemCode({ cause }: ApiError): { reason?: string } {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string'
    ? { reason: cause.code }
    : {};
}

import type { Clock, Timer } from '../../../base/clock.ts';
import { abortedWith } from '../../../base/on-abort.ts';
import type { CanaryPace } from '../concurrency/goodput-search.ts';
import type { SentRequest } from '../concurrency/measurement.ts';
import { PaceCurve } from './pace-curve.ts';
import { Silences } from './silences.ts';

export interface SlowdownLimitOptions {
  /** Factor on the time of interactive requests that lines may cause; `Infinity` for any. */
  maxSlowdown: number;
  clock: Clock;
  /** Lines of this process that stay at the server in any case. */
  floor: () => number;
  /** Requests that the server processes at once. */
  limit: () => number;
  /** True while these are to be discovered. */
  isSearching: () => boolean;
  /** Called when lines may be sent that had to wait for interactive requests. */
  onRoom: () => void;
}

/** Call of a line that may be aborted in favour of interactive requests. */
export interface YieldingCall {
  readonly signal: AbortSignal;
  /** True once the line gave way: it is to be sent again. */
  readonly hasGivenWay: boolean;
  /** Called when the line has a place again, or needs none any more. */
  end(): void;
}

interface Flying {
  isLine: boolean;
  /** Milliseconds in flight of all requests until it was sent. */
  load: number;
  /** Makes a line give way; null for a request that does not. */
  giveWay: (() => void) | null;
}

/** Lines alongside interactive requests that the discovery of slots needs for its first steps. */
const minExplored = 16;
/** Share of the lines that shows the curve, together with all of them. */
const explored = 0.4;
/** Times that a line gives way; then it keeps its place, so that every line ends. */
export const maxTimes = 3;
/** Share of the permitted slowdown that the mean may use, because single requests differ. */
const meanShare = 0.8;
/** Share of the lines that may be too many while interactive requests go on, because estimates change with each answer. */
const slack = 1 / 8;
/** Answers that a canary counts for, because it takes the mean of many tokens. */
const canaryWeight = 4;
const initialLineMs = 2_000;
/** Interval at which answers change the limit, because computing it takes as long as counting some answers. */
const estimateMs = 100;
/**
 * Steps in which lines return, and milliseconds between them. While a server reads the prompts of many lines, which takes
 * seconds on a processor, an interactive request that arrives gets no token.
 */
const returns = { steps: 16, everyMs: 250 } as const;
/** Weight of the newest answer in the mean time of a line. */
const newestWeight = 1 / 16;

/**
 * Limits the lines at one server so that interactive requests take at most `maxSlowdown` times as long as without lines. When
 * interactive requests arrive, the newest lines above the limit give way: their calls are aborted, and sent again later.
 */
export class SlowdownLimit {
  readonly #options: SlowdownLimitOptions;
  readonly #curve = new PaceCurve();
  /** Requests in flight, in the order in which they were sent. */
  readonly #flying = new Map<SentRequest, Flying>();
  #lines = 0;
  /** Lines that gave way and have no place yet. */
  #waiting = 0;
  /** Lines of other processes, and their interactive requests. */
  #others = 0;
  #othersInteractive = 0;
  #load = 0;
  #loadAt: number;
  #lineMs = initialLineMs;
  readonly #silences = new Silences();
  /** Monotonic milliseconds of the last interactive request; null while there are some, and before the first. */
  #silentSince: number | null = null;
  /** Runs from the last interactive request until lines return. */
  #release: Timer | null = null;
  /** Runs until the next of them may return. */
  #returns: Timer | null = null;
  /** Most lines while they return; `Infinity` once all have. */
  #returning = Infinity;
  /** True once the present interactive requests kept lines back, and the monotonic milliseconds until which earlier ones did. */
  #isKeeping = false;
  #keptUntil = -Infinity;
  /** Most requests within the permitted slowdown; null while unknown, undefined until it is computed. */
  #within: number | null | undefined;
  #estimatedAt = -Infinity;
  #gaveWay = 0;

  constructor(options: SlowdownLimitOptions) {
    this.#options = options;
    this.#loadAt = options.clock.monotonic();
  }

  /** Lines that gave way so far. */
  get gaveWay(): number {
    return this.#gaveWay;
  }

  /** Slowdown by the lines in flight; null while unknown. */
  get current(): number | null {
    return this.#curve.slowdown(this.#flying.size + this.#others, this.#interactive);
  }

  /** Most lines of all processes alongside the interactive requests. */
  get maxLines(): number {
    if (!this.#isPresent) return Infinity;
    const interactive = Math.max(1, this.#allInteractive);
    if (this.#within === undefined) {
      this.#within = this.#curve.requestsWithin(1 + (this.#options.maxSlowdown - 1) * meanShare, interactive);
      this.#estimatedAt = this.#options.clock.monotonic();
    }
    const beside = this.#within === null ? this.#toExplore : Math.floor(this.#within - interactive);
    return Math.max(0, Math.min(beside, this.#options.limit() - this.#allInteractive));
  }

  /** Lines so few, relative to those that were measured, that the curve becomes known. */
  get #toExplore(): number {
    const { limit, isSearching } = this.#options;
    if (isSearching() && limit() < 2 * minExplored) return minExplored;
    return Math.ceil(Math.min(limit(), this.#curve.fewest ?? Infinity) * explored);
  }

  /** True if the slowdown limits the lines, and not the slots. */
  get #isBinding(): boolean {
    return this.maxLines < this.#options.limit() - this.#allInteractive;
  }

  /** True if another line may be sent. */
  get hasRoom(): boolean {
    return this.#lines < (this.#isPresent ? this.#maxOwnLines : this.#returning);
  }

  /** True while interactive requests keep lines back. */
  get isKeeping(): boolean {
    return this.#isKeeping;
  }

  /** True if interactive requests kept lines back after `since`, in monotonic milliseconds. */
  hasKeptBack(since: number): boolean {
    return this.#isKeeping || since < this.#keptUntil;
  }

  get #interactive(): number {
    return this.#flying.size - this.#lines;
  }

  get #allInteractive(): number {
    return this.#interactive + this.#othersInteractive;
  }

  get #isPresent(): boolean {
    return this.#options.maxSlowdown < Infinity && (this.#allInteractive > 0 || this.#release !== null);
  }

  /** Processes divide the lines as they divide those that they have. */
  get #maxOwnLines(): number {
    const own = Math.max(1, this.#lines + this.#waiting);
    const share = own / (own + this.#others);
    return Math.max(this.#options.floor(), Math.ceil(this.maxLines * share));
  }

  /** Applies the lines of other processes, and their interactive requests, which may be at any replica. */
  share(others: number, interactive: number): void {
    this.#countLoad();
    const [before, wasPresent] = [this.#othersInteractive, this.#isPresent];
    this.#others = others;
    this.#othersInteractive = interactive;
    if (before !== interactive) this.#within = undefined;
    if (interactive > 0) this.#arrived(!wasPresent);
    else if (before > 0) this.#startRelease();
  }

  /** @param others lines of other processes at the server */
  sent(sent: SentRequest, isLine: boolean, others: number): void {
    this.#countLoad();
    this.#others = others;
    this.#flying.set(sent, { isLine, load: this.#load, giveWay: null });
    if (isLine) return void this.#lines++;
    const isFirst = this.#allInteractive === 1 && this.#release === null;
    this.#within = undefined;
    this.#arrived(isFirst);
  }

  #arrived(isFirst: boolean): void {
    if (this.#silentSince !== null) this.#silences.add(this.#options.clock.monotonic() - this.#silentSince);
    this.#silentSince = null;
    this.#release?.cancel();
    this.#release = null;
    this.#returns?.cancel();
    this.#returning = Infinity;
    this.#makeRoom(isFirst ? 0 : slack);
  }

  /** Lets a line give way to interactive requests. @param times that it did so before */
  yielding(sent: SentRequest, signal: AbortSignal, times: number): YieldingCall | null {
    const flying = this.#flying.get(sent);
    if (!flying || times >= maxTimes || this.#options.maxSlowdown === Infinity) return null;
    const { controller, forget } = abortedWith(signal);
    let hasGivenWay = false;
    flying.giveWay = () => {
      hasGivenWay = true;
      this.#waiting++;
      this.#gaveWay++;
      controller.abort(new Error('The line gives way to interactive requests.'));
    };
    return {
      signal: controller.signal,
      get hasGivenWay() {
        return hasGivenWay;
      },
      end: () => {
        forget();
        if (hasGivenWay) this.#waiting--;
      },
    };
  }

  answered(sent: SentRequest, ms: number, work: number): void {
    const flying = this.#flying.get(sent);
    if (!flying) return;
    const elapsed = this.#countLoad() - sent.at;
    const inFlight = elapsed > 0 ? (this.#load - flying.load) / elapsed : this.#flying.size + this.#others;
    this.#curve.add(flying.isLine ? 'line' : 'interactive', { ms, work, inFlight });
    if (this.#loadAt - this.#estimatedAt >= estimateMs) this.#within = undefined;
    if (flying.isLine) this.#lineMs += (ms - this.#lineMs) * newestWeight;
  }

  /** Applies the pace of a canary. */
  measured({ tokenMs }: CanaryPace): void {
    const inFlight = this.#flying.size + this.#others + 1;
    this.#curve.add('canary', { ms: tokenMs, work: 1, inFlight }, canaryWeight);
    this.#within = undefined;
  }

  /** Counts out a request, however it ended. */
  left(sent: SentRequest): void {
    const flying = this.#flying.get(sent);
    if (!flying) return;
    this.#countLoad();
    if (this.#isPresent && this.#lines >= this.#maxOwnLines && this.#isBinding) this.#isKeeping = true;
    this.#flying.delete(sent);
    if (flying.isLine) return void this.#lines--;
    this.#within = undefined;
    this.#startRelease();
  }

  stop(): void {
    this.#release?.cancel();
    this.#returns?.cancel();
  }

  #countLoad(): number {
    const at = this.#options.clock.monotonic();
    this.#load += (this.#flying.size + this.#others) * (at - this.#loadAt);
    return (this.#loadAt = at);
  }

  #startRelease(): void {
    const { clock, maxSlowdown, onRoom } = this.#options;
    if (maxSlowdown === Infinity || this.#allInteractive > 0) return;
    this.#silentSince = clock.monotonic();
    this.#release = clock.after(this.#silences.holdMs(this.#lineMs), () => {
      this.#release = null;
      if (this.#isKeeping) return this.#return(this.#lines);
      onRoom();
    });
  }

  /** Lets the next lines return. */
  #return(from: number): void {
    const { clock, limit, onRoom } = this.#options;
    const to = from + Math.ceil(limit() / returns.steps);
    const isLast = to >= limit();
    this.#returning = isLast ? Infinity : to;
    this.#returns = isLast ? null : clock.after(returns.everyMs, () => this.#return(to));
    if (isLast) {
      this.#isKeeping = false;
      this.#keptUntil = clock.monotonic();
    }
    onRoom();
  }

  /** Makes the newest lines above the limit give way. */
  #makeRoom(tolerated: number): void {
    if (!this.#isPresent) return;
    const max = this.#maxOwnLines;
    if (this.#lines <= max * (1 + tolerated)) return;
    if (this.#isBinding) this.#isKeeping = true;
    let tooMany = this.#lines - max;
    for (const [sent, flying] of [...this.#flying].toReversed()) {
      if (tooMany === 0) return;
      if (!flying.giveWay) continue;
      tooMany--;
      this.left(sent);
      flying.giveWay();
    }
  }
}

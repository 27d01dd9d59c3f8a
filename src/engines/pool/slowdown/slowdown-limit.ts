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
  /** Requests that the server processes concurrently. */
  limit: () => number;
  /** True while that limit is being discovered. */
  isSearching: () => boolean;
  /** Called when lines may be sent that had to wait for interactive requests. */
  onRoom: () => void;
}

/** Call of a line that may be aborted in favour of interactive requests. */
export interface YieldingCall {
  readonly signal: AbortSignal;
  /** True once the line gave way and has to be sent again. */
  readonly hasGivenWay: boolean;
  /** Called when the line has a place again, or needs none any more. */
  end(): void;
}

interface InFlight {
  isLine: boolean;
  /** Sum over all requests of their milliseconds in flight, when this one was sent. */
  load: number;
  /** Makes a line give way; null for a request that does not. */
  giveWay: (() => void) | null;
}

/** Lines alongside interactive requests with which the discovery of slots can take its first steps. */
const minExplored = 16;
/** Share of the measured lines that, measured as well, gives the curve its second point. */
const exploredShare = 0.4;
/** A line gives way at most this many times, so that every line ends. */
export const maxYields = 3;
/** Share of the permitted slowdown that the mean may use, because single requests differ. */
const meanShare = 0.8;
/** Excess of lines, as a share of their limit, that later interactive requests tolerate: the limit changes with each answer. */
const toleratedExcess = 1 / 8;
/** Answers that a canary counts for, because it takes the mean of many tokens. */
const canaryWeight = 4;
const initialLineMs = 2_000;
/** Shortest interval between two estimates of the limit, because one takes as long as counting several answers. */
const estimateMs = 100;
/**
 * Ramp-up of lines after the last interactive request. All lines at once would delay the next interactive request: on a
 * processor, a server reads their prompts for seconds before it generates a token.
 */
const ramp = { steps: 16, everyMs: 250 } as const;
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
  readonly #inFlight = new Map<SentRequest, InFlight>();
  #lines = 0;
  /** Lines that gave way and have no place yet. */
  #waiting = 0;
  /** Lines and interactive requests of other processes. */
  #peerLines = 0;
  #peerInteractive = 0;
  #load = 0;
  #loadAt: number;
  #lineMs = initialLineMs;
  readonly #silences = new Silences();
  /** End of the last interactive request in monotonic milliseconds; null while one is in flight, and before the first. */
  #silentSince: number | null = null;
  /** Runs from the last interactive request until lines may return. */
  #hold: Timer | null = null;
  /** Runs until the next step of the ramp-up. */
  #rampTimer: Timer | null = null;
  /** Limit of lines during the ramp-up, else `Infinity`. */
  #rampMax = Infinity;
  /** True once the current interactive requests hold lines back, and the monotonic milliseconds until which earlier ones did. */
  #isHoldingBack = false;
  #heldBackUntil = -Infinity;
  /** Most requests within the permitted slowdown; null while unknown, undefined until computed. */
  #maxRequests: number | null | undefined;
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
    return this.#curve.slowdown(this.#inFlight.size + this.#peerLines, this.#interactive);
  }

  /** Most lines of all processes alongside the interactive requests. */
  get maxLines(): number {
    if (!this.#isActive) return Infinity;
    const interactive = Math.max(1, this.#allInteractive);
    if (this.#maxRequests === undefined) {
      this.#maxRequests = this.#curve.requestsWithin(
        1 + (this.#options.maxSlowdown - 1) * meanShare,
        interactive,
      );
      this.#estimatedAt = this.#options.clock.monotonic();
    }
    const allowed =
      this.#maxRequests === null ? this.#linesToExplore : Math.floor(this.#maxRequests - interactive);
    return Math.max(0, Math.min(allowed, this.#options.limit() - this.#allInteractive));
  }

  /** Number of lines whose answers give the curve its second point. */
  get #linesToExplore(): number {
    const { limit, isSearching } = this.#options;
    if (isSearching() && limit() < 2 * minExplored) return minExplored;
    return Math.ceil(Math.min(limit(), this.#curve.fewest ?? Infinity) * exploredShare);
  }

  /** True if the slowdown limits the lines, and not the slots. */
  get #isBinding(): boolean {
    return this.maxLines < this.#options.limit() - this.#allInteractive;
  }

  /** True if another line may be sent. */
  get hasRoom(): boolean {
    return this.#lines < (this.#isActive ? this.#maxOwnLines : this.#rampMax);
  }

  /** True while interactive requests hold lines back. */
  get isHoldingBack(): boolean {
    return this.#isHoldingBack;
  }

  /** True if interactive requests held lines back after `since`, in monotonic milliseconds. */
  hasHeldBack(since: number): boolean {
    return this.#isHoldingBack || since < this.#heldBackUntil;
  }

  get #interactive(): number {
    return this.#inFlight.size - this.#lines;
  }

  get #allInteractive(): number {
    return this.#interactive + this.#peerInteractive;
  }

  /** True while interactive requests are in flight or lines wait for the end of the hold after them. */
  get #isActive(): boolean {
    return this.#options.maxSlowdown < Infinity && (this.#allInteractive > 0 || this.#hold !== null);
  }

  /** Limit of this process's lines: its part of `maxLines`, in proportion to the lines that each process has. */
  get #maxOwnLines(): number {
    const own = Math.max(1, this.#lines + this.#waiting);
    const share = own / (own + this.#peerLines);
    return Math.max(this.#options.floor(), Math.ceil(this.maxLines * share));
  }

  /** Applies the lines of other processes, and their interactive requests, which may be at any replica. */
  share(peerLines: number, interactive: number): void {
    this.#countLoad();
    const [before, wasActive] = [this.#peerInteractive, this.#isActive];
    this.#peerLines = peerLines;
    this.#peerInteractive = interactive;
    if (before !== interactive) this.#maxRequests = undefined;
    if (interactive > 0) this.#arrived(!wasActive);
    else if (before > 0) this.#startHold();
  }

  /** @param peerLines lines of other processes at the server */
  sent(sent: SentRequest, isLine: boolean, peerLines: number): void {
    this.#countLoad();
    this.#peerLines = peerLines;
    this.#inFlight.set(sent, { isLine, load: this.#load, giveWay: null });
    if (isLine) return void this.#lines++;
    const isFirst = this.#allInteractive === 1 && this.#hold === null;
    this.#maxRequests = undefined;
    this.#arrived(isFirst);
  }

  #arrived(isFirst: boolean): void {
    if (this.#silentSince !== null) this.#silences.add(this.#options.clock.monotonic() - this.#silentSince);
    this.#silentSince = null;
    this.#hold?.cancel();
    this.#hold = null;
    this.#rampTimer?.cancel();
    this.#rampMax = Infinity;
    this.#makeRoom(isFirst ? 0 : toleratedExcess);
  }

  /** Lets a line give way to interactive requests; null for one that keeps its place. @param timesYielded so far */
  yielding(sent: SentRequest, signal: AbortSignal, timesYielded: number): YieldingCall | null {
    const request = this.#inFlight.get(sent);
    if (!request || timesYielded >= maxYields || this.#options.maxSlowdown === Infinity) return null;
    const { controller, forget } = abortedWith(signal);
    let hasGivenWay = false;
    request.giveWay = () => {
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
    const request = this.#inFlight.get(sent);
    if (!request) return;
    const elapsed = this.#countLoad() - sent.at;
    const inFlight =
      elapsed > 0 ? (this.#load - request.load) / elapsed : this.#inFlight.size + this.#peerLines;
    this.#curve.add(request.isLine ? 'line' : 'interactive', { ms, work, inFlight });
    if (this.#loadAt - this.#estimatedAt >= estimateMs) this.#maxRequests = undefined;
    if (request.isLine) this.#lineMs += (ms - this.#lineMs) * newestWeight;
  }

  measured({ tokenMs }: CanaryPace): void {
    const inFlight = this.#inFlight.size + this.#peerLines + 1;
    this.#curve.add('canary', { ms: tokenMs, work: 1, inFlight }, canaryWeight);
    this.#maxRequests = undefined;
  }

  /** Removes a request, however it ended. */
  left(sent: SentRequest): void {
    const request = this.#inFlight.get(sent);
    if (!request) return;
    this.#countLoad();
    if (this.#isActive && this.#lines >= this.#maxOwnLines && this.#isBinding) this.#isHoldingBack = true;
    this.#inFlight.delete(sent);
    if (request.isLine) return void this.#lines--;
    this.#maxRequests = undefined;
    this.#startHold();
  }

  stop(): void {
    this.#hold?.cancel();
    this.#rampTimer?.cancel();
  }

  /** Updates the load. Returns the time, in monotonic milliseconds. */
  #countLoad(): number {
    const at = this.#options.clock.monotonic();
    this.#load += (this.#inFlight.size + this.#peerLines) * (at - this.#loadAt);
    return (this.#loadAt = at);
  }

  #startHold(): void {
    const { clock, maxSlowdown, onRoom } = this.#options;
    if (maxSlowdown === Infinity || this.#allInteractive > 0) return;
    this.#silentSince = clock.monotonic();
    this.#hold = clock.after(this.#silences.holdMs(this.#lineMs), () => {
      this.#hold = null;
      if (this.#isHoldingBack) return this.#rampUp(this.#lines);
      onRoom();
    });
  }

  /** Raises the limit of lines by one step. */
  #rampUp(from: number): void {
    const { clock, limit, onRoom } = this.#options;
    const to = from + Math.ceil(limit() / ramp.steps);
    const isLast = to >= limit();
    this.#rampMax = isLast ? Infinity : to;
    this.#rampTimer = isLast ? null : clock.after(ramp.everyMs, () => this.#rampUp(to));
    if (isLast) {
      this.#isHoldingBack = false;
      this.#heldBackUntil = clock.monotonic();
    }
    onRoom();
  }

  /** Makes the newest lines above the limit give way. @param tolerated excess, as a share of the limit, that is left alone */
  #makeRoom(tolerated: number): void {
    if (!this.#isActive) return;
    const max = this.#maxOwnLines;
    if (this.#lines <= max * (1 + tolerated)) return;
    if (this.#isBinding) this.#isHoldingBack = true;
    let tooMany = this.#lines - max;
    for (const [sent, request] of [...this.#inFlight].toReversed()) {
      if (tooMany === 0) return;
      if (!request.giveWay) continue;
      tooMany--;
      this.left(sent);
      request.giveWay();
    }
  }
}

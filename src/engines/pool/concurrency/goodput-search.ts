import { Measurement, meanInFlight, type SentRequest } from './measurement.ts';
import {
  type Change,
  type Findings,
  hold,
  judge,
  maxHold,
  type Phase,
  type Source,
} from './search-phases.ts';
import { pool, type Throughput } from './throughput.ts';

export interface TimedAnswer {
  /** Arrival in monotonic milliseconds, earlier than now where this process was busy. */
  at: number;
  /** Tokens read and written, weighted by cost; 1 where unknown. */
  work: number;
}

/** Speed of a short answer: milliseconds to its first token, and for each further one. */
export interface CanaryPace {
  firstMs: number;
  tokenMs: number;
}

const initialLimit = 8;
const maxLimit = 4096;
/** Work of an answer before any arrived. */
const unknownWork = 128;
/** Newest answer's weight in the mean work of an answer. */
const newestWeight = 0.05;
/** Relative error of the pace of one canary. */
const canaryError = 0.01;
/** Share of the limit from which the load counts as full, and of the answers that must arrive at full load. */
const full = { load: 0.75, answers: 0.75 } as const;
/** Share of the time in flight at the server below which a measurement is repeated once. */
const minServerShare = 0.75;
/** Share of the requests in flight from which a queue that the server reports stops a climb. */
const maxQueued = 1 / 8;

/**
 * Discovers how many requests a server should process concurrently: the fewest with nearly its highest throughput. Servers
 * with slots queue further requests; those with continuous batching slow all of them down, long before they are full. Only the
 * throughput shows the best number for both. `search-phases.ts` has the decisions, this file measures.
 * @param now monotonic milliseconds
 */
export function createGoodputSearch(now: () => number, start: number = initialLimit) {
  let limit = start;
  let inFlight = 0;
  /** Requests of other processes in flight. */
  let others = 0;
  /** Milliseconds in flight of all requests until `loadAt`. */
  let load = 0;
  let loadAt = now();
  /** Requests that fill up to a higher limit: they queue less than those after them. */
  let skip = 0;
  let queued = 0;
  let meanWork: number = unknownWork;
  const findings: Findings = {
    source: null,
    isCareful: false,
    hasGained: false,
    holdFor: 1,
    isNextUp: true,
  };
  let phase: Phase = { kind: 'climb', low: null };
  let measurement = new Measurement(start, 2);
  /** Earlier measurements at this limit, which did not suffice for a verdict, and their number. */
  let unclear: Throughput | null = null;
  let times = 0;
  /** True after a measurement during which this process was too busy. */
  let wasBusy = false;

  function enter(step: Change): void {
    phase = step.phase;
    limit = Math.max(1, Math.min(maxLimit, Math.round(step.limit)));
    measureAnew();
    const isStart = phase.kind === 'climb' && !phase.low;
    if (isStart) findings.source = null;
    skip = isStart && !findings.isCareful ? 0 : Math.max(0, limit - inFlight - others);
  }

  function measureAnew(): void {
    unclear = null;
    times = 0;
    measure();
  }

  function measure(): void {
    const rounds = isSteady() && findings.source === 'answers' ? 4 : 2;
    // All further steps build on the first.
    const isStep = phase.kind === 'climb' && (phase.low !== null || findings.isCareful);
    measurement = new Measurement(limit, isStep ? null : rounds);
  }

  /** True once the climb is over: only answers are precise enough then. */
  const isSteady = () => phase.kind === 'hold' || phase.kind === 'trial';

  function startNear(to: number): void {
    Object.assign(findings, { isCareful: true, hasGained: false });
    enter({ phase: { kind: 'climb', low: null }, limit: to });
  }

  function countLoad(): number {
    const at = now();
    load += (inFlight + others) * (at - loadAt);
    loadAt = at;
    return at;
  }

  function left(): void {
    if (--inFlight === 0) giveUpTrial();
  }

  /** Returns to the limit that was held: too few requests to judge the trial. */
  function giveUpTrial(): void {
    if (phase.kind === 'trial') enter(hold(phase.held));
  }

  function take(source: Source, measured: Throughput, ceiling: number): void {
    if (!isSteady()) findings.source = source;
    const seen = pool(unclear, measured);
    const isQueued = queued > limit * maxQueued;
    const step = judge(phase, { limit, seen, times: ++times, ceiling, isQueued }, findings);
    if (step === 'anew') measureAnew();
    else if (step === 'more') {
      unclear = seen;
      measure();
    } else enter(step);
  }

  return {
    get limit() {
      return limit;
    },
    /** The limit that is held during a trial, and the current one otherwise. */
    get held() {
      return phase.kind === 'trial' ? phase.held : limit;
    },
    /** Requests that the server was seen to process concurrently. */
    get verified() {
      return phase.kind === 'climb' ? (phase.low?.inFlight ?? 0) : this.held;
    },
    /** @param ofOthers requests of other processes in flight at the server */
    sent(ofOthers = 0): SentRequest {
      const at = countLoad();
      others = ofOthers;
      const sent: SentRequest = { at, inFlight: ++inFlight + others, load, measurement: null };
      if (--skip < 0) measurement.join(sent);
      return sent;
    },
    /** @param ceiling limit above which the server refuses requests */
    answered(sent: SentRequest, { at: arrivedAt, work }: TimedAnswer, ceiling: number) {
      const at = countLoad();
      const isFull = inFlight + others >= Math.min(limit, ceiling) * full.load;
      const ms = arrivedAt - sent.at;
      left();
      meanWork += (work - meanWork) * newestWeight;
      if (sent.measurement !== measurement || (findings.source === 'canary' && !isSteady())) return;
      measurement.answered(
        sent,
        { ms, work, totalMs: at - sent.at, inFlight: meanInFlight(sent, at, load) },
        isFull,
      );
      if (!measurement.isKnown(at)) return;
      const seen = measurement.throughput(at, load);
      wasBusy = seen.serverShare < minServerShare && !wasBusy;
      if (wasBusy) return measureAnew();
      if (measurement.fullShare >= full.answers) take('answers', seen, ceiling);
      else if (phase.kind === 'trial') giveUpTrial();
      else measureAnew();
    },
    /** Measurement for a canary to take; null if only answers can tell, or too few requests are in flight. */
    canaryStep(): Measurement | null {
      const atServer = inFlight + others;
      if (findings.source === 'answers' || isSteady() || atServer < limit * full.load) return null;
      // Requests above the limit are still at the server.
      return phase.kind !== 'climb' && atServer > limit ? null : measurement;
    },
    /** Applies the pace of a canary, or null where it failed. */
    canaryReturned(step: Measurement, pace: CanaryPace | null, ceiling: number) {
      if (step !== measurement || findings.source === 'answers') return;
      // One that queued longer than an answer takes shows its place in the queue.
      if (!pace || pace.firstMs > meanWork * pace.tokenMs) {
        if (findings.source) startNear(limit);
        findings.source = 'answers';
        return;
      }
      const mean = { ms: pace.firstMs / meanWork + pace.tokenMs, error: canaryError };
      const seen = { inFlight: inFlight + others, mean, quick: mean, spread: 0, count: 1, serverShare: 1 };
      take('canary', seen, ceiling);
    },
    /** Removes a request that failed or was given up, and says nothing about the limit. */
    dropped(sent: SentRequest) {
      countLoad();
      left();
      sent.measurement?.leave(sent);
    },
    /** Starts over near a limit that was discovered earlier, or by another process. */
    seed(to: number) {
      if (to !== limit) startNear(to);
    },
    /** Settles below the limit at which the server refuses requests. */
    refused(ceiling: number) {
      if (ceiling >= limit) return;
      findings.holdFor = maxHold;
      enter(hold(ceiling));
    },
    /** Applies the length of the queue that the server reports. */
    setQueued: (requests: number) => void (queued = requests),
  };
}

import { best, compare, highestKnee, knee, type Throughput } from './throughput.ts';

export type Phase =
  /** Raises the limit while that raises throughput; `low` is the last limit that did. */
  | { kind: 'climb'; low: Throughput | null; unslowed?: Unslowed | undefined }
  /** Lowers the limit after a climb, and checks that this costs no throughput. */
  | { kind: 'settle'; high: Throughput }
  /** Keeps the limit for some measurements. */
  | { kind: 'hold'; measured: number; known: Throughput | null; isSurprised: boolean }
  /** Tries another limit, and keeps it if throughput rose, or held with fewer requests. */
  | { kind: 'trial'; held: number; known: Throughput };

/** The last limit of a climb that slowed no request down, and the steps since. */
interface Unslowed {
  seen: Throughput;
  stepsSince: number;
}

export interface Change {
  phase: Phase;
  limit: number;
}

/** The next phase and its limit, or whether to measure the same limit again: in addition, or anew. */
export type Step = Change | 'more' | 'anew';

/** Source of measurements. Those of one do not compare to those of the other. */
export type Source = 'answers' | 'canary';

/** Knowledge of the server that outlives a phase. */
export interface Findings {
  /** Source that measured first. */
  source: Source | null;
  /** True where the limit may be near: after an earlier discovery, or a step without a gain. */
  isCareful: boolean;
  /** True once more requests raised throughput. */
  hasGained: boolean;
  /** Measurements to hold a limit until the next trial, and its direction. */
  holdFor: number;
  isNextUp: boolean;
}

/** A measurement of the current limit. */
export interface Measured {
  limit: number;
  seen: Throughput;
  /** Number of measurements in it. */
  times: number;
  /** Limit above which the server refuses requests. */
  ceiling: number;
  /** True where the server reports a queue. */
  isQueued: boolean;
}

/**
 * By source: factor of a step that slowed nothing down, requests in flight for a number of slots, measurements of a limit near
 * the best one, and size of a trial. Overshooting costs little with canaries, which show it at once.
 */
const settings = {
  answers: { free: 1.4, room: (slots: number) => (slots * 9) / 8, times: 1, trial: 1 / 8, minGain: 0.33 },
  canary: { free: 2, room: (slots: number) => slots + 1, times: 3, trial: 1 / 16, minGain: 0.1 },
} as const;
/** Factors of a climb: the first, the others, those near the best limit, and the first one down from there; `big` needs care. */
const climb = { first: 3, usual: 1.4, min: 1.08, careful: 9 / 8, check: 7 / 8, big: 2 } as const;
/** Shares of the additional requests in the throughput: about all, and fewer after a big step, which passed the knee. */
const gains = { free: 0.9, some: 0.7 } as const;
/** Steps of a climb above the slots of a server until it shows that it is full. */
const maxStepsSince = 2;
/** Measurements before a climb ends, and at most for one verdict. */
const times = { toStop: 2, max: 3 } as const;
/** Throughput that must remain with fewer requests; the others had only queued. */
const minKept = 0.98;
/** Change of the throughput at one limit that shows a different server, and the largest cut after it. */
const surprise = { change: 0.2, cut: 0.6 } as const;
export const maxHold = 4;
/** Standard errors that count as significant. */
const significance = 2;

export function hold(limit: number, known: Throughput | null = null): Change {
  return { phase: { kind: 'hold', measured: 0, known, isSurprised: false }, limit };
}

/** Judges a measurement. */
export function judge(phase: Phase, measured: Measured, findings: Findings): Step {
  if (phase.kind === 'climb') return measured.isQueued ? 'anew' : judgeClimb(phase, measured, findings);
  if (phase.kind === 'settle') return judgeSettled(phase.high, measured, findings);
  if (phase.kind === 'trial') return judgeTrial(phase, measured, findings);
  return review(phase, measured, findings);
}

function judgeClimb(phase: Phase & { kind: 'climb' }, measured: Measured, findings: Findings): Step {
  const { low } = phase;
  const { limit, seen, ceiling } = measured;
  const { isCareful } = findings;
  const { times: minTimes, room, free } = settings[findings.source ?? 'answers'];
  if (isCareful && measured.times < minTimes) return 'more';
  // The server may have shrunk since.
  if (!low && isCareful) return { phase: { kind: 'settle', high: seen }, limit: limit * climb.check };
  let factor: number = climb.first;
  let isSlowed = isCareful;
  if (low) {
    const { gain, more, doubt } = compare(low, seen);
    const needed = neededGain(more, findings);
    // Stopping too early costs more than one step too many.
    const hope = isCareful ? 0 : doubt;
    const isGain = gain + hope >= needed;
    findings.hasGained ||= isGain;
    const isPastKnee = more > climb.big && gain + significance * doubt < 1 + gains.some * (more - 1);
    if (!isGain || isPastKnee) {
      if (measured.times < times.toStop || (!isGain && isUnclear(measured, gain - needed, doubt)))
        return 'more';
      const at = phase.unslowed ? highestKnee(phase.unslowed.seen, seen) : knee(low, seen);
      return { phase: { kind: 'settle', high: seen }, limit: Math.min(limit, Math.ceil(room(at))) };
    }
    const share = Math.min(1, (gain + hope - 1) / (more - 1));
    isSlowed ||= share < gains.free;
    if (isCareful && share < gains.free) factor = climb.careful;
    else factor = isSlowed ? 1 + (climb.usual - 1) * share : free;
  }
  const to = Math.min(Math.ceil(limit * Math.max(climb.min, factor * seen.serverShare)), ceiling);
  if (to <= limit) return hold(limit);
  const unslowed = isSlowed ? later(phase.unslowed, findings) : { seen, stepsSince: 0 };
  return { phase: { kind: 'climb', low: seen, unslowed }, limit: to };
}

/**
 * A server with slots slows requests down only once it is full, and soon shows it: its slots follow from the last limit below.
 * One with continuous batching slows them down long before; canaries show each step of that precisely.
 */
function later(before: Unslowed | undefined, { source }: Findings): Unslowed | undefined {
  if (!before || before.stepsSince === maxStepsSince || source === 'canary') return undefined;
  return { ...before, stepsSince: before.stepsSince + 1 };
}

function judgeSettled(high: Throughput, measured: Measured, findings: Findings): Step {
  const { limit, seen, ceiling } = measured;
  if (findings.isCareful && measured.times < settings[findings.source ?? 'answers'].times) return 'more';
  const { gain, more, doubt } = compare(seen, high);
  const needed = neededGain(more, findings);
  if (more > climb.min) {
    if (isUnclear(measured, gain - needed, doubt)) return 'more';
    // The climb was stopped by chance.
    if (gain >= needed + doubt / 2) {
      Object.assign(findings, { hasGained: true, isCareful: true });
      return { phase: { kind: 'climb', low: seen }, limit: Math.min(high.inFlight, ceiling) };
    }
  }
  // Even the first limit may have been more than the slots.
  if (!findings.hasGained && limit > 1) return { phase: { kind: 'settle', high: seen }, limit: limit / 2 };
  return hold(limit);
}

function review(
  held: Phase & { kind: 'hold' },
  { limit, seen, ceiling, isQueued }: Measured,
  findings: Findings,
): Step {
  const { change, doubt } = held.known ? compare(held.known, seen) : { change: 1, doubt: 0 };
  const isOther = Math.abs(change - 1) > Math.max(surprise.change, significance * doubt);
  if (isOther && !held.isSurprised) {
    held.isSurprised = true;
    return 'anew';
  }
  held.isSurprised = false;
  held.known = isOther ? seen : best(held.known, seen);
  held.measured++;
  if (held.measured < findings.holdFor && !isOther) return 'anew';
  const by = settings[findings.source ?? 'answers'].trial;
  const isUp = isOther ? change > 1 : findings.isNextUp;
  const up = Math.ceil(limit * (1 + Math.min(1 / 2, Math.max(by, 4 / limit))));
  const down = Math.floor(limit * (isOther ? Math.max(surprise.cut, change) : 1 - by));
  const to = Math.max(1, Math.min(isUp ? up : down, ceiling));
  if (to === limit || (to > limit && isQueued)) return 'anew';
  return { phase: { kind: 'trial', held: limit, known: held.known }, limit: to };
}

function judgeTrial(trial: Phase & { kind: 'trial' }, measured: Measured, findings: Findings): Step {
  const { held, known } = trial;
  const { limit, seen, ceiling } = measured;
  const { trial: by } = settings[findings.source ?? 'answers'];
  const isUp = limit > held;
  const { gain, more, doubt } = compare(known, seen);
  if (isUnclear(measured, gain - (isUp ? neededGain(more, findings) : minKept), doubt)) return 'more';
  const isKept = isUp
    ? gain >= neededGain(more, findings) + doubt / 2
    : gain >= minKept && gain - doubt > (1 + more) / 2;
  findings.holdFor = isKept ? 1 : Math.min(maxHold, findings.holdFor * 2);
  findings.isNextUp = isKept === isUp;
  if (!isKept) return hold(held, known);
  if (!isUp) return hold(limit, seen);
  // The server may have many more slots by now.
  const factor = gain >= 1 + gains.some * (more - 1) ? climb.usual : 1 + by;
  const next = Math.min(Math.ceil(limit * factor), ceiling);
  if (next <= limit) return hold(limit, seen);
  return { phase: { kind: 'trial', held: limit, known: seen }, limit: next };
}

/** True where more measurements may change the verdict. @param excess gain above the one needed */
function isUnclear(measured: Measured, excess: number, doubt: number): boolean {
  return measured.times < times.max && Math.abs(excess) < significance * doubt;
}

/** Gain of throughput that makes more requests worth it. */
function neededGain(more: number, { source }: Findings): number {
  return 1 + settings[source ?? 'answers'].minGain * (more - 1);
}

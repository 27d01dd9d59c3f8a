import { Cohort, type SentRequest } from './cohort.ts';
import type { LatencyStats } from './latency-stats.ts';
import { createRampUp, equalWithin, queueFreeShare, slowdownSince, unknownLatency } from './ramp-up.ts';
import { Sample } from './sample.ts';
import { judge, significance, type Trial } from './trial.ts';

export interface TimedAnswer {
  /** Arrival in monotonic milliseconds, earlier than now where this process was busy. */
  at: number;
  /** Tokens read and written, weighted by cost; 1 where unknown. */
  work: number;
  /** True where about as many requests were in flight as permitted. */
  isFull: boolean;
}

const initialSlots = 8;
/** Second start, where even the first steps only cost time. */
const smallStart = 2;
const maxSlots = 4096;
/** Share of a growing cohort that suffices if answers arrive before all have joined: the first hardly queue. */
const minCohort = 0.5;
/** Factors of a trial: the largest raise (with headroom, a quarter above the slots), a probe's cut and the largest cut. */
const factors = { up: 1.125, down: 0.8, min: 0.6 } as const;
/** Deviation that is measured again: its cause may have begun in the middle of a sample. */
const surprise = 0.25;
/** Samples to hold a limit until the next probe. */
const holdSamples = { initial: 1, max: 8 } as const;

type Grow = { kind: 'grow'; cohort: Cohort };
type Hold = { kind: 'hold'; samples: number; isSurprised: boolean };

/**
 * Discovers how many requests a server processes concurrently. By Little's law, throughput is the requests in flight divided by
 * the time of an answer: more in flight are worth it while throughput grows. Beyond that they queue, and the slots are the
 * requests in flight times the share of their time without a queue. Times are relative to the work, so that long answers do
 * not look like a queue.
 *
 *   grow   raises the limit by up to 40 % for each cohort of answers, while none queues or throughput grows (`ramp-up.ts`)
 *   hold   keeps the discovered limit plus headroom. After 1, 2, 4 ... samples it probes a larger or smaller one
 *   trial  tries another limit, because latencies suggest it or as a probe, and keeps it if throughput rose or held
 * @param start first limit
 */
export function createAdaptiveConcurrency(now: () => number, start: number = initialSlots) {
  let slots = start;
  let maxInFlight = start;
  let seeded: number = initialSlots;
  let inFlight = 0;
  let queued = 0;
  let rampUp = createRampUp();
  let isSmallStart = false;
  /** Requests that did not queue at the last step. */
  let verified = 0;
  /** Pace without a queue. */
  let baseline = unknownLatency;
  let holdFor: number = holdSamples.initial;
  let probes = 0;
  let phase: Grow | Hold | Trial = { kind: 'grow', cohort: new Cohort(start, start) };
  let sample = new Sample(start);

  function enter(next: Grow | Hold | Trial, toSlots: number): void {
    phase = next;
    slots = clamp(toSlots);
    maxInFlight = next.kind === 'grow' ? slots : withHeadroom(slots);
    // Answers to earlier requests say nothing about the new limit.
    sample = new Sample(maxInFlight, next.kind === 'grow' ? 0 : Math.max(maxInFlight, inFlight));
  }

  function grow(to: number): void {
    const minSize = clamp(rampUp.isRegrowth ? to : to * minCohort);
    enter({ kind: 'grow', cohort: new Cohort(clamp(to), minSize) }, to);
  }

  function growFrom(limit: number, before: LatencyStats | null = null): void {
    rampUp = createRampUp(true, before);
    grow(limit);
  }

  function settle(toSlots: number): void {
    enter({ kind: 'hold', samples: 0, isSurprised: false }, toSlots);
  }

  /** Measures the same limit again, with all requests in flight. */
  function remeasure(): void {
    if (phase.kind === 'grow') phase.cohort = new Cohort(maxInFlight, maxInFlight);
    sample = new Sample(maxInFlight);
  }

  function takeStep(stats: LatencyStats, ceiling: number): void {
    const factor = rampUp.next(stats);
    if (factor === 1) return remeasure();
    const measured = stats.concurrency * queueFreeShare(stats.estimate, rampUp.baseline);
    if (factor === 0 && measured < seeded && !isSmallStart) {
      isSmallStart = true;
      rampUp = createRampUp();
      return grow(smallStart);
    }
    baseline = rampUp.baseline;
    const next = Math.min(Math.ceil(maxInFlight * factor), ceiling);
    if (next <= maxInFlight || maxInFlight >= maxSlots || queued > 0) {
      const min = Math.min(maxInFlight * factors.min, verified);
      return settle(Math.max(rampUp.worthwhileConcurrency, min, Math.min(measured, maxInFlight / headroom)));
    }
    verified = maxInFlight;
    grow(next);
  }

  function review(held: Hold, stats: LatencyStats, ceiling: number): void {
    held.samples++;
    const measured = stats.concurrency * queueFreeShare(stats.estimate, baseline);
    const deviation = Math.abs(measured / slots - 1);
    const noise = significance * slowdownSince(stats.estimate, baseline).error;
    const deviates = deviation > Math.max(equalWithin, noise);
    if (deviates && deviation > surprise && !held.isSurprised) {
      held.isSurprised = true;
      return remeasure();
    }
    const [least, most] = [slots * factors.min, Math.ceil(slots * factors.up)];
    let to = deviates ? clamp(Math.min(Math.max(measured, least), most)) : slots;
    const isProbe = to === slots;
    if (isProbe) {
      if (held.samples < holdFor) return remeasure();
      // Fewer may cost throughput: they are tried seldom, unless the initial requests may have queued.
      const isDown = slots <= 2 * initialSlots ? probes % 2 === 0 : probes % 4 === 3;
      probes++;
      to = isDown ? Math.floor(slots * factors.down) : most;
    }
    to = clamp(Math.min(to, ceiling));
    if (to === slots || (to > slots && queued > 0)) return remeasure();
    enter({ kind: 'trial', before: stats, slots, isProbe }, to);
  }

  function decide(trial: Trial, stats: LatencyStats, ceiling: number): void {
    const isUp = slots > trial.slots;
    const verdict = judge(trial, slots, stats, baseline);
    if (!verdict.isClear && sample.extend()) return;
    baseline = verdict.baseline;
    if (!verdict.isWorthIt || (isUp && queued > 0)) {
      holdFor = Math.min(holdSamples.max, holdFor * 2);
      return settle(trial.slots);
    }
    holdFor = holdSamples.initial;
    if (trial.isProbe) probes--;
    const more = clamp(Math.min(Math.ceil(slots * factors.up), ceiling));
    if (!verdict.isQueueFree || more <= slots || queued > 0) return settle(slots);
    // Nothing queues, so the server may have many more slots by now.
    growFrom(more, stats);
  }

  function addAnswer(sent: SentRequest, { at: arrivedAt, work, isFull }: TimedAnswer, ceiling: number): void {
    const at = now();
    const ms = arrivedAt - sent.at;
    if (phase.kind === 'grow') {
      if (sent.cohort !== phase.cohort) return;
      phase.cohort.answered(sent, ms, work, at - sent.at);
    }
    sample.add(ms, work, sent.inFlight, isFull, at - sent.at);
    if (phase.kind === 'grow' ? !phase.cohort.isKnown(at) : !sample.isKnown) return;
    if (!sample.isFull) remeasure();
    else if (phase.kind === 'grow') takeStep(phase.cohort.stats(at), ceiling);
    else if (phase.kind === 'hold') review(phase, sample.stats, ceiling);
    else decide(phase, sample.stats, ceiling);
  }

  return {
    get slots() {
      return phase.kind === 'trial' ? phase.slots : slots;
    },
    get maxInFlight() {
      return maxInFlight;
    },
    /** Share of `maxInFlight` that the server was never seen to process concurrently. */
    get unverifiedShare() {
      const known = phase.kind === 'grow' ? verified : phase.kind === 'trial' ? phase.slots : slots;
      return 1 - known / maxInFlight;
    },
    /** @param others requests of other processes in flight at the server */
    sent(others = 0): SentRequest {
      const sent: SentRequest = { at: now(), inFlight: ++inFlight + others, cohort: null };
      if (phase.kind === 'grow') phase.cohort.join(sent);
      return sent;
    },
    /** @param ceiling limit above which the server refuses requests */
    answered(sent: SentRequest, answer: TimedAnswer, ceiling: number) {
      inFlight--;
      addAnswer(sent, answer, ceiling);
    },
    /** Removes a request that failed or was given up, and says nothing about the limit. */
    dropped(sent: SentRequest) {
      inFlight--;
      sent.cohort?.leave(sent);
    },
    /** Starts from a limit discovered earlier, if it is higher than the current one. */
    seed(limit: number) {
      if (limit <= maxInFlight) return;
      seeded = limit;
      growFrom(limit);
    },
    /** Starts over from a limit that another process discovered. */
    followPeer(limit: number) {
      if (limit !== maxInFlight) growFrom(limit);
    },
    /** Settles below the limit at which the server refuses requests. */
    refused(ceiling: number) {
      if (ceiling >= maxInFlight) return;
      holdFor = holdSamples.max;
      settle(ceiling / headroom);
    },
    /** Applies the length of the queue that the server reports. */
    setQueued: (requests: number) => void (queued = requests),
  };
}

/** Requests in flight per slot, so that the next request is there when an answer leaves. */
export const headroom = 9 / 8;

/** Limit for a number of slots: one more request for every eighth slot, rounded up. */
export function withHeadroom(slots: number): number {
  return slots + Math.ceil(slots / 8);
}

function clamp(count: number): number {
  return Math.max(1, Math.min(maxSlots, Math.round(count)));
}

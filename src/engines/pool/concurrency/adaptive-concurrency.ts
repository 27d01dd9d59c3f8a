import { Cohort, type SentRequest } from './cohort.ts';
import { createRampUp, same, slowdownSince, unknown, queueFreeShare } from './ramp-up.ts';
import type { LatencyStats } from './latency-stats.ts';
import { Sample } from './sample.ts';
import { chance, judge, type Trial } from './trial.ts';

/**
 * Finds out how many requests a server works on at once that does not tell. By Little's law its throughput is the requests
 * in flight by the time an answer takes: more in flight are worth it as long as throughput grows with them. Where they only
 * cost time, they queue, and the slots are those in flight by the share of the time that they do not wait. Times are taken by
 * work, so that long answers are not taken for a queue.
 *
 *   grow   two fifths more with each cohort of answers, as long as none of them waits or throughput grows (`growth.ts`)
 *   hold   at what was found, with headroom. After 1, 2, 4 ... samples of answers it probes: more, and at times fewer
 *   trial  another number, because the pace says so or as a probe. It stays if it brought throughput, or cost none
 */
export interface AdaptiveConcurrency {
  /** Requests worked on at once, as far as was found. */
  readonly slots: number;
  /** Requests in flight at most. */
  readonly maxInFlight: number;
  /** The share of those that were never seen to be worked on at once. */
  readonly unverifiedShare: number;
  /** @param others in flight there of other processes */
  sent(others?: number): SentRequest;
  /** It was answered. @param ceiling more than that in flight is refused */
  answered(sent: SentRequest, answer: TimedAnswer, ceiling: number): void;
  /** It failed or was given up: it tells nothing. */
  dropped(sent: SentRequest): void;
  /** So many worked well some time ago: it begins with them, where that is more than it has, and may learn better. */
  seed(most: number): void;
  /** So many in flight are right, as another process has found: where the finding begins again. */
  followPeer(most: number): void;
  /** More than that in flight is refused. */
  refused(ceiling: number): void;
  /** How many requests wait at the server, by its own word. */
  setQueued(queued: number): void;
}

export type { SentRequest as Sent } from './cohort.ts';

export interface TimedAnswer {
  /** When it came, which is before now where this process was busy with other things. */
  at: number;
  /** Tokens read and written, weighed by what they cost; 1 where nothing is known. */
  work: number;
  /** Whether about as many requests were in flight as may be. */
  isFull: boolean;
}

const first = 8;
/** Where even the first steps only cost time, it begins once more with so few. */
const small = 2;
const largest = 4096;
/** The share of a cohort that is looked at while it grows, if answers come before all have joined: the first hardly queue. */
const enough = 0.5;
/**
 * What a trial changes: the most that is added at once, which with the headroom is a quarter more than what was found, what a
 * probe takes away, and the most that is.
 */
const factors = { up: 1.125, down: 0.8, least: 0.6 } as const;
/** A surprise this large is looked at once more: its cause may have come in the middle of a sample. */
const surprise = 0.25;
/** Samples of holding until something else is tried. */
const hold = { first: 1, longest: 8 } as const;

type Grow = { kind: 'grow'; cohort: Cohort };
type Hold = { kind: 'hold'; samples: number; isSurprised: boolean };

/** @param begin with so many */
export function createAdaptiveConcurrency(now: () => number, begin: number = first): AdaptiveConcurrency {
  let slots = begin;
  let most = begin;
  let begun: number = first;
  let inFlight = 0;
  let queued = 0;
  let growth = createRampUp();
  let isSmall = false;
  /** So many did not queue when growth went on. */
  let verified = 0;
  /** The pace of requests that do not queue, as far as is known. */
  let free = unknown;
  let holdFor: number = hold.first;
  let probes = 0;
  let phase: Grow | Hold | Trial = { kind: 'grow', cohort: new Cohort(begin, begin) };
  let sample = new Sample(begin);

  function go(next: Grow | Hold | Trial, toSlots: number): void {
    phase = next;
    slots = clamped(toSlots);
    most = next.kind === 'grow' ? slots : withHeadroom(slots);
    // Answers to what was sent before tell nothing of it.
    sample = new Sample(most, next.kind === 'grow' ? 0 : Math.max(most, inFlight));
  }

  function grow(to: number): void {
    go({ kind: 'grow', cohort: new Cohort(clamped(to), clamped(growth.isAgain ? to : to * enough)) }, to);
  }

  function growFrom(found: number, before: LatencyStats | null = null): void {
    growth = createRampUp(true, before);
    grow(found);
  }

  function settle(toSlots: number): void {
    go({ kind: 'hold', samples: 0, isSurprised: false }, toSlots);
  }

  /** Looks once more at the same, at all that are in flight. */
  function again(): void {
    if (phase.kind === 'grow') phase.cohort = new Cohort(most, most);
    sample = new Sample(most);
  }

  function step(pace: LatencyStats, ceiling: number): void {
    const factor = growth.next(pace);
    if (factor === 1) return again();
    const found = pace.level * queueFreeShare(pace.estimate, growth.free);
    if (factor === 0 && found < begun && !isSmall) {
      isSmall = true;
      growth = createRampUp();
      return grow(small);
    }
    free = growth.free;
    const next = Math.min(Math.ceil(most * factor), ceiling);
    if (next <= most || most >= largest || queued > 0)
      return settle(
        Math.max(growth.worth, Math.min(most * factors.least, verified), Math.min(found, most / headroom)),
      );
    verified = most;
    grow(next);
  }

  function keep(held: Hold, pace: LatencyStats, ceiling: number): void {
    held.samples++;
    const found = pace.level * queueFreeShare(pace.estimate, free);
    const off = Math.abs(found / slots - 1);
    const isOff = off > Math.max(same, chance * slowdownSince(pace.estimate, free).error);
    if (isOff && off > surprise && !held.isSurprised) {
      held.isSurprised = true;
      return again();
    }
    const [least, largestStep] = [slots * factors.least, Math.ceil(slots * factors.up)];
    let to = isOff ? clamped(Math.min(Math.max(found, least), largestStep)) : slots;
    const isProbe = to === slots;
    if (isProbe) {
      if (held.samples < holdFor) return again();
      // Fewer may cost throughput: they are tried seldom, except where the very first ones may have queued.
      const isDown = slots <= 2 * first ? probes % 2 === 0 : probes % 4 === 3;
      probes++;
      to = isDown ? Math.floor(slots * factors.down) : largestStep;
    }
    to = clamped(Math.min(to, ceiling));
    if (to === slots || (to > slots && queued > 0)) return again();
    go({ kind: 'trial', before: pace, slots, isProbe }, to);
  }

  function decide(trial: Trial, pace: LatencyStats, ceiling: number): void {
    const isUp = slots > trial.slots;
    const verdict = judge(trial, slots, pace, free);
    if (!verdict.isClear && sample.extend()) return;
    free = verdict.free;
    if (!verdict.isWorthIt || (isUp && queued > 0)) {
      holdFor = Math.min(hold.longest, holdFor * 2);
      return settle(trial.slots);
    }
    holdFor = hold.first;
    if (trial.isProbe) probes--;
    const more = clamped(Math.min(Math.ceil(slots * factors.up), ceiling));
    if (!verdict.isFree || more <= slots || queued > 0) return settle(slots);
    // None of them waits: there may be many more slots by now.
    growFrom(more, pace);
  }

  function answered(sent: SentRequest, answer: TimedAnswer, ceiling: number): void {
    const { work, isFull } = answer;
    const at = now();
    const ms = answer.at - sent.at;
    if (phase.kind === 'grow') {
      if (sent.cohort !== phase.cohort) return;
      phase.cohort.answered(sent, ms, work, at - sent.at);
    }
    sample.add(ms, work, sent.inFlight, isFull, at - sent.at);
    if (phase.kind === 'grow' ? !phase.cohort.isKnown(at) : !sample.isKnown) return;
    if (!sample.isFull) again();
    else if (phase.kind === 'grow') step(phase.cohort.pace(at), ceiling);
    else if (phase.kind === 'hold') keep(phase, sample.pace, ceiling);
    else decide(phase, sample.pace, ceiling);
  }

  return {
    get slots() {
      return phase.kind === 'trial' ? phase.slots : slots;
    },
    get maxInFlight() {
      return most;
    },
    get unverifiedShare() {
      return 1 - (phase.kind === 'grow' ? verified : phase.kind === 'trial' ? phase.slots : slots) / most;
    },
    sent(others = 0) {
      const sent: SentRequest = { at: now(), inFlight: ++inFlight + others, cohort: null };
      if (phase.kind === 'grow') phase.cohort.join(sent);
      return sent;
    },
    answered(sent, answer, ceiling) {
      inFlight--;
      answered(sent, answer, ceiling);
    },
    dropped(sent) {
      inFlight--;
      sent.cohort?.leave(sent);
    },
    seed(found) {
      if (found <= most) return;
      begun = found;
      growFrom(found);
    },
    followPeer(found) {
      if (found !== most) growFrom(found);
    },
    refused(ceiling) {
      if (ceiling >= most) return;
      holdFor = hold.longest;
      settle(ceiling / headroom);
    },
    setQueued(waiting) {
      queued = waiting;
    },
  };
}

/** How many more than its slots a server is given, so that the next request is there when an answer leaves. */
export const headroom = 9 / 8;

/** A request more for every eighth slot, rounded up. */
export function withHeadroom(slots: number): number {
  return slots + Math.ceil(slots / 8);
}

function clamped(count: number): number {
  return Math.max(1, Math.min(largest, Math.round(count)));
}

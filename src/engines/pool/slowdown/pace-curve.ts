/** Kinds of requests. Those of one kind are alike, so that only the number of requests in flight makes their paces differ. */
type Kind = 'line' | 'interactive' | 'canary';

/** An answer, with the mean number of requests at the server meanwhile. */
export interface PacedAnswer {
  ms: number;
  /** Tokens read and written, weighted by cost; 1 where unknown. */
  work: number;
  inFlight: number;
}

interface Point {
  inFlight: number;
  /** Milliseconds per unit of work. */
  pace: number;
  answers: number;
}

/** Intervals of the number of requests, for each doubling. */
const perDoubling = 4;
/** Answers of an interval that count, so that a changed server is noticed. */
const memory = 64;
const minAnswers = 4;
/** Time of an answer relative to the others of its interval from which it is an outlier, such as one that hung. */
const outlier = 2;
/** Ratio of the most to the fewest requests from which the points show a slope. */
const minSpan = 2;
/** Ratios of requests within which points are about the same, and from which they differ clearly. */
const near = 1.25;
const clearlyMore = 1.5;
/** Least pace without other requests that the slope may suggest, relative to that with the fewest. */
const minExtrapolated = 1 / 4;

/**
 * Pace of a server by the number of requests that it runs: with continuous batching each one slows all others, with slots none
 * does. Kinds of requests differ in length, so each is measured by itself, and scaled to the lines where both were measured.
 */
export class PaceCurve {
  readonly #by: Record<Kind, (Interval | undefined)[]> = { line: [], interactive: [], canary: [] };
  #points: readonly Point[] | null = null;

  /** @param weight answers that it counts for */
  add(kind: Kind, answer: PacedAnswer, weight = 1): void {
    const at = Math.round(Math.log2(Math.max(1, answer.inFlight)) * perDoubling);
    (this.#by[kind][at] ??= new Interval()).add(answer, weight);
    this.#points = null;
  }

  /**
   * Most requests at which the pace is `factor` times that of `alone` requests; null while the curve is unknown.
   * @param alone interactive requests, at least one
   */
  requestsWithin(factor: number, alone: number): number | null {
    const points = (this.#points ??= this.#measured());
    if (!isKnown(points)) return null;
    const base = paceAt(points, alone);
    const max = base * factor;
    let [inFlight, pace] = [alone, base];
    for (const next of points) {
      if (next.inFlight <= alone) continue;
      if (next.pace > max) return inFlight + ((next.inFlight - inFlight) * (max - pace)) / (next.pace - pace);
      ({ inFlight, pace } = next);
    }
    // Beyond the measured numbers, the curve is extrapolated.
    return pace > base ? alone + ((inFlight - alone) * (max - base)) / (pace - base) : Infinity;
  }

  /** Pace of `inFlight` requests relative to that of `alone` ones; null while the curve is unknown. */
  slowdown(inFlight: number, alone: number): number | null {
    const points = (this.#points ??= this.#measured());
    if (!isKnown(points)) return null;
    return paceAt(points, Math.max(1, inFlight)) / paceAt(points, Math.max(1, alone));
  }

  /** Fewest requests that were measured; null if none were. */
  get fewest(): number | null {
    return (this.#points ??= this.#measured())[0]?.inFlight ?? null;
  }

  /** Points in units of one kind, of which each is at least as slow as the one before. */
  #measured(): Point[] {
    const [interactive, canary, line] = [this.#by.interactive, this.#by.canary, this.#by.line].map(toPoints);
    const kinds = [line!, interactive!, canary!];
    // Lines have most answers, but none with few requests in flight where they take long.
    const reference =
      kinds.find((points) => isKnown(points)) ?? kinds.find((points) => points.length > 0) ?? [];
    const others = kinds.filter((points) => points !== reference);
    const scaled = others.flatMap((points) => {
      const ratio = ratioOf(reference, points);
      return ratio === null ? [] : points.map((point) => ({ ...point, pace: point.pace * ratio }));
    });
    return monotone([...reference, ...scaled].toSorted((a, b) => a.inFlight - b.inFlight));
  }
}

/** Answers at about one number of requests. */
class Interval {
  #answers = 0;
  #ms = 0;
  #work = 0;
  /** Requests at the server, weighted by work. */
  #inFlight = 0;

  add({ ms, work, inFlight }: PacedAnswer, weight: number): void {
    const { pace } = this;
    const counted = this.isKnown ? Math.min(ms, outlier * pace * work) : ms;
    const kept = this.#answers < memory ? 1 : 1 - weight / memory;
    this.#answers = this.#answers * kept + weight;
    this.#ms = this.#ms * kept + counted * weight;
    this.#work = this.#work * kept + work * weight;
    this.#inFlight = this.#inFlight * kept + inFlight * work * weight;
  }

  get isKnown(): boolean {
    return this.#answers >= minAnswers;
  }

  get pace(): number {
    return this.#ms / this.#work;
  }

  get point(): Point {
    return { inFlight: this.#inFlight / this.#work, pace: this.pace, answers: this.#answers };
  }
}

function toPoints(intervals: readonly (Interval | undefined)[]): Point[] {
  return monotone(intervals.flatMap((interval) => (interval?.isKnown ? [interval.point] : [])));
}

/** Pace of a reference relative to another kind of requests, where both were measured; null if they never were. */
function ratioOf(reference: readonly Point[], points: readonly Point[]): number | null {
  let [of, by] = [0, 0];
  for (const { inFlight, pace, answers } of points) {
    if (reference.length === 0 || inFlight < reference[0]!.inFlight || inFlight > reference.at(-1)!.inFlight)
      continue;
    of += answers * paceAt(reference, inFlight);
    by += answers * pace;
  }
  return by > 0 ? of / by : null;
}

function isKnown(points: readonly Point[]): boolean {
  return points.length > 1 && points.at(-1)!.inFlight >= minSpan * points[0]!.inFlight;
}

function pool(a: Point, b: Point): Point {
  const answers = a.answers + b.answers;
  const mean = (x: number, y: number) => (x * a.answers + y * b.answers) / answers;
  return { inFlight: mean(a.inFlight, b.inFlight), pace: mean(a.pace, b.pace), answers };
}

/** Pools adjacent points until none is faster than the one before. */
function monotone(points: readonly Point[]): Point[] {
  const result: Point[] = [];
  for (let point of points) {
    for (let last = result.at(-1); last && last.pace > point.pace; last = result.at(-1)) {
      point = pool(last, point);
      result.pop();
    }
    result.push(point);
  }
  return result;
}

/** Pace of `inFlight` requests: between the points next to it, or on the line through those with more. */
function paceAt(points: readonly Point[], inFlight: number): number {
  if (inFlight < points[0]!.inFlight) {
    const first = nearFirst(points);
    const extrapolated = first.pace - slopeFrom(first, points) * (first.inFlight - inFlight);
    return Math.max(first.pace * minExtrapolated, extrapolated);
  }
  let before = points[0]!;
  for (const next of points) {
    if (next.inFlight > inFlight) {
      const share = (inFlight - before.inFlight) / (next.inFlight - before.inFlight);
      return before.pace + share * (next.pace - before.pace);
    }
    before = next;
  }
  return before.pace;
}

/** Mean of the points with about the fewest requests. */
function nearFirst(points: readonly Point[]): Point {
  return points.filter(({ inFlight }) => inFlight <= points[0]!.inFlight * near).reduce(pool);
}

/** Median slope to points with clearly more requests: close points differ by chance, and a full server slows down for other reasons. */
function slopeFrom(from: Point, points: readonly Point[]): number {
  const far = points.filter(({ inFlight }) => inFlight >= from.inFlight * clearlyMore);
  const slopes = far.map(({ inFlight, pace }) => (pace - from.pace) / (inFlight - from.inFlight));
  return Math.max(0, slopes.toSorted((a, b) => a - b)[(slopes.length - 1) >> 1] ?? 0);
}

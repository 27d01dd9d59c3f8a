/** A limiter from the literature. `answered` gets the milliseconds per token of each answer, and the requests in flight at its arrival. */
export interface TextbookLimit {
  readonly limit: number;
  answered(ms: number, inFlight: number): void;
}

const start = 8;

/** TCP Vegas, with the queue estimated from the shortest time of a request (Netflix concurrency-limits). */
export function vegas(): TextbookLimit {
  let limit = start;
  let shortest = Infinity;
  return {
    get limit() {
      return Math.floor(limit);
    },
    answered(ms, inFlight) {
      shortest = Math.min(shortest, ms);
      if (inFlight < limit / 2) return;
      const queue = limit * (1 - shortest / ms);
      const log = Math.max(1, Math.log10(limit));
      if (queue < 3 * log) limit += log / limit;
      else if (queue > 6 * log) limit = Math.max(1, limit - log / limit);
    },
  };
}

/** Gradient2: the average time divided by the latest one, with a tolerance and a queue (Netflix concurrency-limits, Envoy). */
export function gradient2(): TextbookLimit {
  const [tolerance, smoothing, averagedAnswers] = [1.5, 0.2, 10];
  let limit = start;
  let averageMs = 0;
  return {
    get limit() {
      return Math.floor(limit);
    },
    answered(ms, inFlight) {
      averageMs = averageMs === 0 ? ms : averageMs + (ms - averageMs) / averagedAnswers;
      if (inFlight < limit / 2) return;
      const gradient = Math.max(0.5, Math.min(1, (tolerance * averageMs) / ms));
      const next = gradient * limit + Math.sqrt(limit);
      // Once per round instead of once per answer.
      limit = Math.max(1, limit + (smoothing * (next - limit)) / limit);
    },
  };
}

/** Additive increase by one for each round, multiplicative decrease where an answer takes twice the shortest time. */
export function aimd(): TextbookLimit {
  let limit = start;
  let shortest = Infinity;
  let sinceCut = 0;
  return {
    get limit() {
      return Math.floor(limit);
    },
    answered(ms, inFlight) {
      shortest = Math.min(shortest, ms);
      sinceCut++;
      if (ms > 2 * shortest && sinceCut > limit) {
        limit = Math.max(1, limit * 0.9);
        sinceCut = 0;
      } else if (inFlight >= limit / 2) limit += 1 / limit;
    },
  };
}

import type { ConcurrencyLimit } from '../../src/engines/pool/concurrency/concurrency-limit.ts';
import type { SentRequest } from '../../src/engines/pool/concurrency/measurement.ts';

/** Server in virtual time: slots with a first-in, first-out queue. */
export interface SlotServer {
  /** Number of requests processed at once. */
  slots: (now: number) => number;
  /** Milliseconds for a request, given the number of requests in the slots, itself included. */
  serviceMs: (work: number, running: number) => number;
  /** Work of the next request; 1 if absent. */
  drawWork?: () => number;
  /** Number of requests in slots and queue from which new ones are refused. */
  queueLimit?: number;
  /**
   * Milliseconds that reading an answer blocks the client, given the number of answers before; 0 if absent. The client reads
   * in turns, each with all that has arrived, and dates an answer that waited between the turn and the one before.
   */
  readMs?: (answers: number) => number;
  /** True to refuse a request at random. */
  isSpurious?: (now: number) => boolean;
}

export interface LoadResult {
  /** Share of the slot time used until the last request was sent. */
  fill: number;
  /** The same until the last answer. */
  fillToEnd: number;
  longestQueue: number;
  ms: number;
  refusals: number;
  /** Refusals after the first second. */
  lateRefusals: number;
  lateAnswers: number;
  /** Estimates after each hundredth of the requests. */
  slots: number[];
  maxInFlight: number[];
}

interface Request {
  work: number;
  ticket: SentRequest;
  /** Time at which the server answers; then, time at which the client has read the answer. */
  endsAt: number;
  /** Time from which the client dates the answer. */
  arrivedAt: number;
}

/** Latency of a refusal in milliseconds. */
const refusalMs = 1;

/** Sends requests up to the limit until all are answered. */
export function simulateLoad(
  requests: number,
  server: SlotServer,
  limitOf: (now: () => number) => ConcurrencyLimit,
): LoadResult {
  let now = 0;
  const limit = limitOf(() => now);
  const running = new Heap();
  const refused = new Heap();
  const unread = new Heap();
  /** Ends and begin of the client's turn, if it is busy. */
  let turn = { beganAt: 0, endsAt: 0 };
  const queue: Request[] = [];
  /** Answers that wait for the client's next turn. */
  const waiting: Request[] = [];
  let sent = 0;
  let done = 0;
  let busy = 0;
  let capacity = 0;
  const served: LoadResult = {
    fill: 0,
    fillToEnd: 0,
    longestQueue: 0,
    ms: 0,
    refusals: 0,
    lateRefusals: 0,
    lateAnswers: 0,
    slots: [],
    maxInFlight: [],
  };
  const inFlight = () => running.size + queue.length + refused.size + waiting.length + unread.size;
  const begin = () => {
    while (queue.length > 0 && running.size < server.slots(now)) {
      const request = queue.shift()!;
      request.endsAt = now + server.serviceMs(request.work, running.size + 1);
      running.push(request);
    }
  };
  const read = () => {
    const arrivedAt = now > turn.endsAt ? now : (turn.beganAt + now) / 2;
    turn = { beganAt: now, endsAt: now };
    for (const request of waiting.splice(0)) {
      turn.endsAt += server.readMs?.(done) ?? 0;
      unread.push({ ...request, arrivedAt, endsAt: turn.endsAt });
    }
  };
  while (done < requests) {
    while (sent < requests && inFlight() < limit.maxInFlight) {
      const request = {
        work: server.drawWork?.() ?? 1,
        ticket: limit.sent(),
        endsAt: now + refusalMs,
        arrivedAt: 0,
      };
      sent++;
      const isTooMuch = running.size + queue.length >= (server.queueLimit ?? Infinity);
      if (isTooMuch || server.isSpurious?.(now)) refused.push(request);
      else queue.push(request);
      begin();
    }
    served.longestQueue = Math.max(served.longestQueue, queue.length);
    const isRefusal = refused.earliest < Math.min(running.earliest, unread.earliest);
    const isAnswer = unread.earliest <= Math.min(refused.earliest, running.earliest);
    const at = Math.min(refused.earliest, running.earliest, unread.earliest);
    busy += (at - now) * running.size;
    capacity += (at - now) * server.slots(now);
    now = at;
    if (isRefusal) {
      const { ticket } = refused.pop();
      sent--;
      served.refusals++;
      if (now > 1000) served.lateRefusals++;
      limit.dropped(ticket);
      limit.refused(Math.min(ticket.inFlight - 1, inFlight()));
      continue;
    }
    if (!isAnswer) {
      const request = running.pop();
      waiting.push(request);
      begin();
      if (now >= turn.endsAt) read();
      continue;
    }
    const { ticket, work, arrivedAt } = unread.pop();
    if (unread.size === 0 && waiting.length > 0) read();
    done++;
    if (now > 1000) served.lateAnswers++;
    limit.answered(ticket, { at: arrivedAt, work });
    if (done % Math.ceil(requests / 100) === 0) {
      served.slots.push(limit.slots);
      served.maxInFlight.push(limit.maxInFlight);
    }
    if (sent < requests) served.fill = busy / capacity;
  }
  served.ms = now;
  served.fillToEnd = busy / capacity;
  return served;
}

/** Requests by end time, earliest first. */
class Heap {
  #requests: Request[] = [];

  get size(): number {
    return this.#requests.length;
  }

  get earliest(): number {
    return this.#requests[0]?.endsAt ?? Number.POSITIVE_INFINITY;
  }

  push(request: Request): void {
    const all = this.#requests;
    let at = all.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = all[(at - 1) >> 1]!;
      if (parent.endsAt <= request.endsAt) break;
      all[at] = parent;
    }
    all[at] = request;
  }

  pop(): Request {
    const all = this.#requests;
    const top = all[0]!;
    const last = all.pop()!;
    if (all.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < all.length && all[child + 1]!.endsAt < all[child]!.endsAt) child++;
      if (child >= all.length || all[child]!.endsAt >= last.endsAt) break;
      all[at] = all[child]!;
      at = child;
    }
    all[at] = last;
    return top;
  }
}

/** Returns a generator of numbers below 1, determined by `seed`. */
export function seededFloats(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns a generator of lognormal numbers. */
export function lognormal(mean: number, sigma: number, seed: number): () => number {
  const random = seededFloats(seed);
  return () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return mean * Math.exp(sigma * normal - sigma ** 2 / 2);
  };
}

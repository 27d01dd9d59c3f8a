import type { Clock, Timer } from '../../src/base/clock.ts';

/** Any instant will do; that it is not zero keeps "no instant" and "the first one" apart. */
export const virtualEpoch = Date.UTC(2026, 0, 1);

/**
 * Time that passes only when `run` says so: a queue of events, run in order. Events of the same instant run in an order
 * that the random numbers given decide, so that one seed is one history and many seeds are many.
 *
 * After each event the microtasks it woke are drained by one turn of the event loop, so code under it may await whatever
 * settles within microtasks, and nothing else.
 */
export interface VirtualTime {
  /** Milliseconds since the beginning. */
  readonly elapsed: number;
  /** Events run so far. */
  readonly events: number;
  /** An event of the world: it happens whatever becomes of any process. */
  after(ms: number, fn: () => void): Timer;
  /** The clock of the world, which never jumps: a database's, say. */
  readonly clock: Clock;
  /** The view of one process, whose timers stop with it. */
  process(): ProcessTime;
  /** Runs until `done` says so (asked after every event), nothing is left, or `until` ms have passed; true when done. */
  run(until: number, done?: () => boolean): Promise<boolean>;
}

/** What one process sees of the time. */
export interface ProcessTime extends Clock {
  readonly alive: boolean;
  /** Whether it stands still. */
  readonly paused: boolean;
  /** No timer of it fires any more. */
  kill(): void;
  /** It stands still for `ms`: what would have happened in between happens afterwards. */
  pause(ms: number): void;
  /** Its wall clock is set; its monotonic clock does not notice. */
  jump(ms: number): void;
}

interface Event {
  at: number;
  tie: number;
  order: number;
  fn: (() => void) | null;
}

export function createVirtualTime(random: { float(): number }): VirtualTime {
  const queue: Event[] = [];
  let elapsed = 0;
  let events = 0;
  let order = 0;

  const after = (ms: number, fn: () => void): Timer => {
    const event: Event = {
      at: elapsed + Math.max(0, Math.ceil(ms)),
      tie: random.float(),
      order: order++,
      fn,
    };
    push(queue, event);
    return { cancel: () => (event.fn = null) };
  };

  const clock: Clock = {
    now: () => virtualEpoch + elapsed,
    monotonic: () => elapsed,
    arrival: () => elapsed,
    after,
  };

  return {
    get elapsed() {
      return elapsed;
    },
    get events() {
      return events;
    },
    after,
    clock,
    process: () => createProcessTime(clock, random),

    async run(until, done = () => false) {
      // What was begun outside any event settles first.
      await drained();
      while (!done()) {
        const next = queue[0];
        if (!next || next.at > until) {
          elapsed = Math.max(elapsed, until);
          return false;
        }
        pop(queue);
        if (!next.fn) continue;
        elapsed = next.at;
        events++;
        next.fn();
        await drained();
      }
      return true;
    },
  };
}

function createProcessTime(world: Clock, random: { float(): number }): ProcessTime {
  const origin = world.monotonic() - Math.floor(random.float() * 1_000_000);
  let alive = true;
  let pausedUntil = 0;
  let jumped = 0;

  const wait = (ms: number, fn: () => void): Timer => {
    let timer = world.after(ms, ring);
    return { cancel: () => timer.cancel() };

    function ring(): void {
      if (!alive) return;
      const left = pausedUntil - world.monotonic();
      if (left > 0) timer = world.after(left, ring);
      else fn();
    }
  };

  return {
    now: () => world.now() + jumped,
    monotonic: () => world.monotonic() - origin,
    arrival: () => world.arrival() - origin,
    after: wait,
    get alive() {
      return alive;
    },
    get paused() {
      return world.monotonic() < pausedUntil;
    },
    kill: () => (alive = false),
    pause: (ms) => (pausedUntil = Math.max(pausedUntil, world.monotonic() + ms)),
    jump: (ms) => (jumped += ms),
  };
}

/** Microtasks run to their end before the event loop turns. */
function drained(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function before(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.tie === b.tie ? a.order < b.order : a.tie < b.tie;
}

/** A binary heap, the next event first. */
function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(event, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
    if (!before(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}

import type { Clock, Timer } from '../../src/base/clock.ts';

/** Arbitrary start; not zero, so that a missing time differs from the first one. */
export const virtualEpoch = Date.UTC(2026, 0, 1);

/**
 * Simulated time: a queue of events, run in order. Events of the same instant run in an order that `random` decides, so that
 * each seed reproduces one history.
 *
 * After each event, one turn of the event loop drains the microtasks, so code under simulation may await only what settles
 * within microtasks.
 */
export interface VirtualTime {
  readonly elapsed: number;
  readonly events: number;
  /** Schedules an event that fires whatever happens to any process. */
  after(ms: number, fn: () => void): Timer;
  /** Clock that never jumps, for example that of a database. */
  readonly clock: Clock;
  /** Returns the clock of one process, whose timers end with it. */
  process(): ProcessTime;
  /**
   * Runs until `done` returns true (checked after every event), the queue is empty, or `until` ms have passed; returns
   * true if done.
   */
  run(until: number, done?: () => boolean): Promise<boolean>;
}

/** Clock of one process. */
export interface ProcessTime extends Clock {
  readonly alive: boolean;
  /** True while the process is suspended. */
  readonly paused: boolean;
  /** Ends the process: its timers no longer fire. */
  kill(): void;
  /** Suspends the process for `ms`; its timers fire afterwards. */
  pause(ms: number): void;
  /** Moves the wall clock; the monotonic clock stays. */
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
      // Settles work that began outside any event.
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

/** Drains the microtasks. */
function drained(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function before(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.tie === b.tie ? a.order < b.order : a.tie < b.tie;
}

// Binary heap, earliest event first.
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

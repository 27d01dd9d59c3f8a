import { Admission, type BatchFloor } from '../../src/inference/admission.ts';
import type { BatchingCurve } from './batching-server.ts';
import { createWorld, type Line, linesOf, requestOf, type World } from './batching-load.ts';
import { seededFloats } from './slot-server.ts';

/** Interactive requests that arrive for `onMs` of every `everyMs`, at random. */
export interface Presence {
  onMs: number;
  everyMs: number;
  perSecond: number;
  /** Median tokens of an answer. */
  tokens: number;
}

export interface Arrival {
  at: number;
  line: Line;
  /** True for the first one after a silence. */
  isFirst: boolean;
}

export function arrivalsOf({ onMs, everyMs, perSecond, tokens }: Presence, ms: number): Arrival[] {
  const random = seededFloats(3);
  const lines = linesOf(Math.ceil((ms / 1000) * perSecond) + 10, tokens, 5);
  const arrivals: Arrival[] = [];
  for (let from = everyMs - onMs; from + onMs <= ms; from += everyMs) {
    let isFirst = true;
    for (let at = from; at < from + onMs; at += (-Math.log(1 - random()) * 1000) / perSecond) {
      arrivals.push({ at: Math.round(at), line: lines[arrivals.length]!, isFirst });
      isFirst = false;
    }
  }
  return arrivals;
}

export interface BesideResult {
  /** Milliseconds of each interactive request. */
  latencies: number[];
  /** Tokens of all answers. */
  tokens: number;
  /** Times that lines gave way, and the most of one line. */
  gaveWay: number;
  world: World;
}

export interface BesideOptions {
  curve: BatchingCurve;
  arrivals: readonly Arrival[];
  ms: number;
  /** Lines, sent over and over; none if empty. */
  lines: readonly Line[];
  maxSlowdown?: number;
  /** Fixed number of lines at once; discovered if absent. */
  concurrency?: number;
  floor?: BatchFloor;
  /** Virtual milliseconds before the measurement, in which lines run. */
  warmUpMs?: number;
  world?: World;
}

/** Runs endless lines beside interactive requests for `ms`, admitted as a process does. */
export async function runBeside({
  curve,
  arrivals,
  ms,
  lines,
  maxSlowdown = Infinity,
  concurrency,
  floor,
  warmUpMs = 0,
  world = createWorld(curve, maxSlowdown),
}: BesideOptions): Promise<BesideResult> {
  const { time, engine, pool } = world;
  const admission = new Admission(pool, time.clock, floor);
  pool.guaranteeBatches(() => admission.guaranteed);
  const never = new AbortController().signal;
  const target = concurrency === undefined ? pool : engine;
  const end = time.elapsed + warmUpMs + ms;
  let next = 0;
  let inFlight = 0;
  const room = () => (concurrency === undefined ? admission.room : concurrency - inFlight);
  const send = () => {
    while (lines.length > 0 && time.elapsed < end && room() > 0) {
      const leave = admission.enter('batch');
      inFlight++;
      target
        .generate(requestOf(lines[next++ % lines.length]!), { signal: never, priority: 'batch' })
        .then(
          () => leave(true),
          () => leave(false),
        )
        .finally(() => {
          inFlight--;
          send();
        });
    }
  };
  pool.onRoom(send);
  send();
  await time.run(time.elapsed + warmUpMs);
  const tokensBefore = engine.server.tokens;
  const latencies: number[] = [];
  const from = time.elapsed;
  for (const [at, arrival] of arrivals.entries())
    time.after(from + arrival.at - time.elapsed, () => {
      const leave = admission.enter('interactive');
      const sentAt = time.elapsed;
      void target
        .generate(requestOf(arrival.line), { signal: never, priority: 'interactive' })
        .then(() => void (latencies[at] = time.elapsed - sentAt))
        .finally(() => leave(true));
    });
  await time.run(end);
  const tokens = engine.server.tokens - tokensBefore;
  const gaveWay = pool.replicas.reduce((sum, replica) => sum + replica.gaveWay, 0);
  await time.run(end + 600_000, () => latencies.filter(Boolean).length === arrivals.length);
  return { latencies, tokens, gaveWay, world };
}

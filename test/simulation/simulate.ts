import { Client } from './clients.ts';
import type { Database } from './database.ts';
import { SingleClient } from './single-clients.ts';
import { judge, judgeSingles } from './verdict.ts';
import { watchStates } from './watch-states.ts';
import { World, type WorldOptions } from './world.ts';

/** Outcome of one seed. */
export interface Outcome {
  seed: number;
  violations: string[];
  /** Hash of the history, if it was recorded. */
  hash: string;
  events: number;
  /** Virtual milliseconds. */
  elapsed: number;
  tail: string[];
  /** Transitions of lines that have happened, as `sent: answer`. */
  transitions: ReadonlySet<string>;
  /** Texts that a plant would replace in SQL, and no statement had. */
  unplanted: ReadonlySet<string>;
}

/** Ample time for everything to end after the last fault, besides the duration of the lines. */
const patienceMs = 300_000;
/** A router lets one request through every ten seconds, and each line that fails behind it needs several. */
const routerMs = 600_000;
const maxEvents = 400_000;

/** Runs the world of a seed to its end and judges it. */
export async function simulate(
  seed: number,
  database: Database,
  options: WorldOptions = {},
): Promise<Outcome> {
  const world = new World(seed, database, options);
  const { time, observer, trace } = world;
  const unhandled = (error: unknown) =>
    observer.fail(
      `unhandled rejection: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  process.on('unhandledRejection', unhandled);
  // Most worlds throw many errors, and only a recorded history needs their stack traces.
  const { stackTraceLimit } = Error;
  if (!options.withTrace) Error.stackTraceLimit = 0;
  const transitions = watchStates(world);
  try {
    await world.prepare();
    const clients = world.plan.batches.map((batch) => new Client(world, batch));
    for (const client of clients) void client.run();
    const singles = Array.from({ length: options.singles ?? 0 }, (_, n) => new SingleClient(world, seed, n));
    for (const single of singles) void single.run();
    const over = () =>
      observer.violations.length > 0 ||
      time.events > maxEvents ||
      (observer.settled(clients.length) &&
        clients.every((client) => client.done) &&
        singles.every((single) => single.done));
    const work = world.plan.batches
      .flatMap(({ lines }) => lines)
      .reduce((sum, line) => sum + line.delayMs, 0);
    const within = world.plan.calmFrom + (world.plan.gateway ? routerMs : patienceMs) + work;
    const settled = await time.run(within, over);
    if (!settled || time.events > maxEvents)
      observer.fail(`not everything has ended after ${time.elapsed} ms and ${time.events} events`);
    if (observer.violations.length === 0) await judge(world, clients);
    if (observer.violations.length === 0) await judgeSingles(world, singles);
    for (const each of world.processes) each.kill();
  } finally {
    world.restoreMethods();
    process.off('unhandledRejection', unhandled);
    Error.stackTraceLimit = stackTraceLimit;
  }
  const { events, elapsed } = time;
  const { violations } = observer;
  const unplanted = new Set([...world.plantedTexts].flatMap(([text, isFound]) => (isFound ? [] : text)));
  return {
    seed,
    violations,
    hash: trace.digest(),
    events,
    elapsed,
    tail: trace.tail(),
    transitions,
    unplanted,
  };
}

/** Runs the world of a failed seed again and returns its history, to reproduce the failure. */
export async function recount(seed: number, database: Database, options?: WorldOptions): Promise<string> {
  const { violations, tail, hash } = await simulate(seed, database, { ...options, withTrace: true });
  return [`seed ${seed} (trace ${hash}):`, ...violations, 'its last steps:', ...tail].join('\n');
}

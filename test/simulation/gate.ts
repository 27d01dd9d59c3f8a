import type { Batch, Chunk } from '../../src/core/batch.ts';
import { StoreError } from '../../src/core/store-error.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Weather } from './plan.ts';
import type { SimProcess } from './sim-process.ts';
import type { Operation } from './store-view.ts';
import type { World } from './world.ts';

/** Operations that a driver may run twice without telling: what they promise must hold all the same. */
const repeatable = new Set<Operation>([
  'results.record',
  'results.recordMissing',
  'batches.claim',
  'batches.release',
  'batches.cancel',
  'batches.expire',
  'batches.fail',
  'batches.shut',
  'workers.beat',
  'workers.keepOnly',
  'workers.reap',
]);

const calm: Weather = { latency: 0.1, slow: 0, error: 0, twice: 0, crash: 0, pause: 0, blobs: 0 };

/**
 * The way from a process to the database and back. On it a call may be slow, get lost before or after its commit, be made
 * twice, or be the last thing its process ever did.
 */
export class Gate {
  #world: World;
  #random: SeededRandom;
  #line: Promise<unknown> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
  }

  async call(
    process: SimProcess,
    name: Operation,
    args: readonly unknown[],
    operate: () => Promise<unknown>,
  ): Promise<unknown> {
    if (!process.alive) return never();
    const random = this.#random;
    const weather = this.#weather();
    if (random.chance(weather.crash)) return this.#crash(process, `${name} is not sent`);
    if (random.chance(weather.slow)) {
      const ms = random.int(500, 8_000);
      process.trouble(ms);
      await this.#travel(ms);
    } else if (random.chance(weather.latency)) await this.#travel(random.int(0, 30));
    // A request that was under way when its process died may arrive or not.
    if (!process.alive && random.chance(0.5)) return never();

    if (this.#fails(process, weather)) {
      process.trouble();
      this.#tell(process, name, args, 'is not done');
      await process.sleep(random.int(0, 200));
      throw unreachable();
    }
    const repeats = repeatable.has(name) && random.chance(weather.twice) ? 2 : 1;
    for (let n = 1; n < repeats; n++) await this.#run(process, name, args, operate).catch(() => undefined);
    const result = await this.#run(process, name, args, operate);

    if (!process.alive) return never();
    if (random.chance(weather.crash)) return this.#crash(process, `${name} is done`);
    if (this.#fails(process, weather)) {
      process.trouble();
      this.#tell(process, name, args, 'is done, but its answer is lost');
      await process.sleep(random.int(0, 200));
      throw unreachable();
    }
    if (random.chance(weather.pause)) {
      const ms = random.int(500, 70_000);
      this.#world.trace.add(process.name, `stands still for ${ms} ms after ${name}`);
      process.pause(ms);
    }
    if (process.time.paused || random.chance(weather.latency)) await process.sleep(random.int(0, 10));
    return result;
  }

  #weather(): Weather {
    const { plan, time } = this.#world;
    return time.elapsed < plan.calmFrom ? plan.weather : calm;
  }

  /** Operations come one at a time, as the database would have them, and the observer looks after each. */
  #run(
    process: SimProcess,
    name: Operation,
    args: readonly unknown[],
    operate: () => Promise<unknown>,
  ): Promise<unknown> {
    const { observer } = this.#world;
    const done = this.#line.then(async () => {
      if (name === 'workers.beat' || name === 'batches.claim')
        observer.workers.set(args[0] as string, process);
      if (name === 'batches.create') this.#world.learnName(args[0] as Batch);
      await observer.before(name, args);
      try {
        const result = await operate();
        if (name === 'batches.claim') this.#world.noteClaims(result as Chunk[]);
        this.#tell(process, name, args, brief(result));
        return result;
      } finally {
        await observer.after(name);
      }
    });
    this.#line = done.catch(() => undefined);
    return done;
  }

  #fails(process: SimProcess, weather: Weather): boolean {
    const cutOff = this.#world.time.elapsed < process.cutOffUntil;
    return this.#random.chance(cutOff ? 0.7 : weather.error / 2);
  }

  #travel(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.time.after(ms, resolve);
    });
  }

  #crash(process: SimProcess, where: string): Promise<never> {
    this.#world.trace.add(process.name, `dies when ${where}`);
    this.#world.lose(process, this.#random.int(200, 12_000));
    return never();
  }

  #tell(process: SimProcess, name: Operation, args: readonly unknown[], what: string): void {
    this.#world.trace.add(process.name, `${name} ${args.map(brief).join(' ')}: ${what}`);
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function unreachable(): StoreError {
  return new StoreError('unreachable', 'The database cannot be reached.', 'Simulated.');
}

/** Enough of a value to follow the history, without its bytes. */
function brief(value: unknown): string {
  if (value === undefined) return '-';
  if (Array.isArray(value)) {
    const more = value.length > 8 ? ` +${value.length - 8}` : '';
    return `[${value.slice(0, 8).map(brief).join(' ')}${more}]`;
  }
  return typeof value === 'object' && value !== null ? briefObject(value) : `${value as string | number}`;
}

interface Telling {
  batchId?: string;
  id?: string;
  seq?: number;
  epoch?: number;
  line?: number;
  lines?: { line: number }[];
  stream?: string;
  outcome?: string;
  kept?: number;
  closed?: boolean;
  code?: string | null;
}

function briefObject(value: Telling): string {
  const { batchId, id, seq, epoch, line, lines, stream, outcome, kept, closed, code } = value;
  const parts = [
    (batchId ?? id)?.slice(-6),
    seq !== undefined && `#${seq}e${epoch}`,
    lines && `(${lines.map((each) => each.line).join(',')})`,
    line !== undefined && `${stream}:${line}`,
    outcome,
    kept !== undefined && `kept ${kept}`,
    closed && 'closed',
    code,
  ];
  return `{${parts.filter(Boolean).join(' ')}}`;
}

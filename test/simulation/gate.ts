import type { Batch } from '../../src/core/batch.ts';
import { StoreError } from '../../src/core/store-error.ts';
import type { CreateBatchOutcome } from '../../src/store/contract/batches.ts';
import type { Claim } from '../../src/store/contract/claim.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Weather } from './plan.ts';
import { claims } from './fences.ts';
import type { SimProcess } from './sim-process.ts';
import type { Operation } from './store-view.ts';
import type { World } from './world.ts';

/** Operations that a driver may run twice unnoticed, with the same effect as once. */
const repeatable = new Set<Operation>([
  'results.record',
  'results.recordMissing',
  'batches.claim',
  'batches.claimClosings',
  'batches.release',
  'batches.cancel',
  'batches.expire',
  'batches.fail',
  'batches.closeGate',
  'workers.beat',
  'workers.reap',
]);

/** Rare operations, which get a higher probability of hanging. */
const seldom = new Set<Operation>([
  'batches.release',
  'batches.split',
  'batches.closeGate',
  'batches.publish',
  'batches.release',
  'results.missing',
  'results.recordMissing',
]);

const calm: Weather = {
  latency: 0.1,
  slow: 0,
  hang: 0,
  seldomHang: 0,
  error: 0,
  twice: 0,
  crash: 0,
  pause: 0,
  blobs: 0,
};

/**
 * Connection between a process and the database. A call can be slow, be lost before or after its commit, run twice, or be
 * the last act of its process.
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
    const sentAt = this.#world.time.clock.now();
    const random = this.#random;
    const weather = this.#weather();
    if (random.chance(weather.crash)) return this.#crash(process, `${name} is not sent`);
    if (random.chance(weather.slow)) {
      const ms = random.int(500, 8_000);
      process.trouble(ms);
      await this.#travel(ms);
    } else if (random.chance(weather.latency)) await this.#travel(random.int(0, 30));
    if (this.#hangs(name, weather)) this.#cutOff(process, `from ${name} on`);
    await this.#silence(process);
    // A request in flight when its process dies may or may not arrive.
    if (!process.alive && random.chance(0.5)) return never();

    if (this.#fails(process, weather)) {
      process.trouble();
      this.#tell(process, name, args, 'is not done');
      await process.sleep(random.int(0, 200));
      throw unreachable();
    }
    const run = () => this.#run(process, name, args, operate, sentAt);
    const repeats = repeatable.has(name) && random.chance(weather.twice) ? 2 : 1;
    for (let n = 1; n < repeats; n++) {
      await run().catch(() => undefined);
      if (random.chance(0.5)) await this.#travel(random.int(0, 3_000));
    }
    const result = await run();

    if (!process.alive) return never();
    if (random.chance(weather.crash)) return this.#crash(process, `${name} is done`);
    if (this.#fails(process, weather)) {
      process.trouble();
      this.#tell(process, name, args, 'is done, but its answer is lost');
      await process.sleep(random.int(0, 200));
      throw unreachable();
    }
    await this.#silence(process);
    if (random.chance(weather.pause)) {
      const ms = random.int(500, this.#world.plan.longestMs);
      this.#world.trace.add(process.name, `pauses for ${ms} ms after ${name}`);
      process.pause(ms);
    }
    if (process.time.paused || random.chance(weather.latency)) await process.sleep(random.int(0, 10));
    return result;
  }

  #weather(): Weather {
    const { plan, time } = this.#world;
    return time.elapsed < plan.calmFrom ? plan.weather : calm;
  }

  /** Runs operations one at a time, as the database would, and lets the observer check each. */
  #run(
    process: SimProcess,
    name: Operation,
    args: readonly unknown[],
    operate: () => Promise<unknown>,
    sentAt: number,
  ): Promise<unknown> {
    const { observer, database } = this.#world;
    const { locks } = database;
    const done = this.#line.then(async () => {
      // Stays undefined if the operation fails.
      let result: unknown;
      if (name === 'workers.beat' || claims.has(name)) {
        process.worker = args[0] as string;
        observer.workers.set(process.worker, process);
      }
      if (name === 'batches.create') this.#world.learnName(args[0] as Batch);
      locks.operation = name;
      try {
        result = (await operate()) ?? null;
        if (name === 'batches.create' && (result as CreateBatchOutcome).outcome === 'created')
          this.#world.learnId(args[0] as Batch);
        if (claims.has(name)) this.#world.noteClaims((result as Claim).chunks);
        this.#tell(process, name, args, result);
        return result ?? undefined;
      } finally {
        await observer.after(name, args, result, sentAt);
      }
    });
    this.#line = done.catch(() => undefined);
    return done;
  }

  #fails(process: SimProcess, weather: Weather): boolean {
    const cutOff = this.#world.time.elapsed < process.cutOffUntil;
    return this.#random.chance(cutOff ? 0.7 : weather.error / 2);
  }

  #hangs(name: Operation, { hang, seldomHang }: Weather): boolean {
    return this.#random.chance(seldom.has(name) ? seldomHang : hang);
  }

  /** The connection stalls for longer than a lease lives and then delivers everything, while the process runs on. */
  #cutOff(process: SimProcess, where: string): void {
    const ms = this.#random.int(31_000, this.#world.plan.longestMs);
    process.silence(ms);
    this.#world.trace.add(process.name, `loses its connection for ${ms} ms ${where}`);
  }

  async #silence(process: SimProcess): Promise<void> {
    const left = process.silentUntil - this.#world.time.elapsed;
    if (left > 0) await this.#travel(left + this.#random.int(0, 50));
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

  #tell(process: SimProcess, name: Operation, args: readonly unknown[], what: unknown): void {
    const { trace } = this.#world;
    if (trace.isEnabled) trace.add(process.name, `${name} ${args.map(brief).join(' ')}: ${brief(what)}`);
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function unreachable(): StoreError {
  return new StoreError('unreachable', 'The database cannot be reached.', 'Simulated.');
}

/** Short form of a value for the trace, without its bytes. */
function brief(value: unknown): string {
  if (value === undefined || value === null) return '-';
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
  /** Lines of a chunk, or the number of lines that a claim requests. */
  lines?: { line: number }[] | number;
  model?: string;
  /** Chunks of a claim, or the number of chunks requested. */
  chunks?: object[] | number;
  stream?: string;
  outcome?: string;
  kept?: number;
  closed?: boolean;
  code?: string | null;
}

function briefObject(value: Telling): string {
  const { batchId, id, seq, epoch, line, lines, model, chunks, stream, outcome, kept, closed, code } = value;
  const parts = [
    (batchId ?? id)?.slice(-6),
    seq !== undefined && `#${seq}e${epoch}`,
    Array.isArray(lines) && `(${lines.map((each) => each.line).join(',')})`,
    Array.isArray(chunks) && brief(chunks),
    typeof lines === 'number' && `${lines} of ${model}`,
    line !== undefined && `${stream}:${line}`,
    outcome,
    kept !== undefined && `kept ${kept}`,
    closed && 'closed',
    code,
  ];
  return `{${parts.filter(Boolean).join(' ')}}`;
}

import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { programFile } from '../../base/program.ts';
import { ApiError } from '../../core/errors.ts';
import type { SchemaVerdict } from './checker.ts';

/** A schema to try, or a text to check against one. */
export interface SchemaStep {
  /** The schema as JSON text. */
  source: string;
  /** JSON text to check; null to try the schema itself. */
  text: string | null;
  /** Processor time limit. */
  limitMs: number;
}

const limits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Wall-clock limit of a step, as a multiple of its processor time limit. */
const wallClockFactor = 10;
const minWatchMs = 20;

/** A worker thread for one step at a time. A step that exceeds its time or memory ends the thread, and the next one starts a new thread. */
export class SchemaThread {
  readonly #clock: Clock;
  readonly #log: Log;
  #worker: Worker | null = null;
  #ready: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @throws Error if the thread cannot be started; ApiError `shutting_down` after `stop` */
  async run(step: SchemaStep): Promise<SchemaVerdict> {
    if (this.#isStopped) throw shuttingDown();
    const worker = (this.#worker ??= this.#launch());
    await this.#ready;
    const verdict = await this.#runOn(worker, step);
    if (this.#isStopped) throw shuttingDown();
    return verdict;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#worker?.terminate();
  }

  #launch(): Worker {
    const script = programFile('inference/schemas/worker');
    // A clean environment, except for Node's compile cache: without it, the thread would compile all sources again.
    const cacheFolder = getCompileCacheDir();
    const env = cacheFolder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cacheFolder) };
    const worker = new Worker(script, { execArgv: [], env, resourceLimits: limits });
    worker.unref();
    this.#ready = new Promise((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('exit', () => {
        if (worker === this.#worker) this.#worker = null;
        reject(this.#isStopped ? shuttingDown() : new Error('the schema thread cannot be started'));
      });
    });
    worker.on('error', (error) => this.#log.error({ err: error }, 'the schema thread has died'));
    return worker;
  }

  async #runOn(worker: Worker, step: SchemaStep): Promise<SchemaVerdict> {
    const { promise, resolve } = Promise.withResolvers<SchemaVerdict>();
    const lose = () => resolve({ kind: 'too much' });
    worker.once('message', resolve);
    worker.once('exit', lose);
    worker.postMessage(step, []);
    const unwatch = this.#watch(worker, step);
    try {
      return await promise;
    } finally {
      unwatch();
      worker.off('exit', lose);
    }
  }

  /** Kills the thread once the step has used up its processor time, or, on a machine busy with other work, its wall-clock time. */
  #watch(worker: Worker, { source, limitMs }: SchemaStep): () => void {
    const begunAt = this.#clock.monotonic();
    const before = processorMs(worker);
    let timer: Timer | null = null;
    let isOver = false;
    const look = async () => {
      const [beforeMs, nowMs] = [await before, await processorMs(worker)];
      if (isOver) return;
      const passedMs = this.#clock.monotonic() - begunAt;
      const takenMs = beforeMs === null || nowMs === null ? passedMs : nowMs - beforeMs;
      const leftMs = Math.min(limitMs - takenMs, wallClockFactor * limitMs - passedMs);
      if (leftMs > 0) {
        timer = this.#clock.after(Math.max(minWatchMs, leftMs), () => void look());
        return;
      }
      this.#log.warn({ schema_bytes: source.length }, 'a schema took too long and was stopped');
      await worker.terminate();
    };
    timer = this.#clock.after(limitMs, () => void look());
    return () => {
      isOver = true;
      timer?.cancel();
    };
  }
}

/** Processor time of a thread so far; null after its end, and before Node 24.6. */
async function processorMs(worker: Worker): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch {
    return null;
  }
}

const shuttingDown = () => new ApiError('shutting_down', 'The server is shutting down.');

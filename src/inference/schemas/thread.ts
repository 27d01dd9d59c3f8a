import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { programFile } from '../../base/program.ts';
import { ApiError } from '../../core/errors.ts';
import type { FromSchemaWorker, SchemaJob, SchemaStep, SchemaVerdict, ToSchemaWorker } from './job.ts';

export interface SchemaThreadDeps {
  clock: Clock;
  log: Log;
  /** Called when all work is done, and when a new thread is ready. */
  onIdle: () => void;
}

/** A job and its pending result. */
export interface SchemaWork {
  job: SchemaJob;
  verdicts: SchemaVerdict[];
  resolve(verdicts: SchemaVerdict[]): void;
  reject(error: Error): void;
}

const limits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Wall-clock limit of a job, as a multiple of its processor time limit. */
const wallClockFactor = 10;
/** Limits of the compiled schemas of a thread; a batch usually repeats one schema. */
const maxCompiled = { schemas: 256, characters: 1_048_576 } as const;

/**
 * A worker thread that runs jobs in order, started with the first. A job that exceeds its time or memory ends the thread, and a
 * new thread takes over the jobs after it.
 */
export class SchemaThread {
  #deps: SchemaThreadDeps;
  #worker: Worker | null = null;
  #isReady = false;
  /** Jobs; the first is running. */
  #work: SchemaWork[] = [];
  #timer: Timer | null = null;
  /** Processor time of the thread when the first job began, and that instant in monotonic milliseconds. */
  #spentMs = 0;
  #begunAt = 0;
  /** Source lengths of the compiled schemas by number, ordered by last use. */
  #compiled = new Map<number, number>();
  #characters = 0;

  constructor(deps: SchemaThreadDeps) {
    this.#deps = deps;
  }

  /** False while a replacement thread is starting. */
  get isIdle(): boolean {
    return this.#work.length === 0 && (this.#isReady || !this.#worker);
  }

  knows(number: number): boolean {
    return this.#compiled.has(number);
  }

  /** Takes jobs, in one message to the thread. Call it only while idle. */
  take(work: SchemaWork[]): void {
    this.#work = work;
    if (!this.#worker) this.#launch();
    else this.#begin();
  }

  async stop(): Promise<void> {
    const worker = this.#dismiss();
    this.#rejectAll(new ApiError('shutting_down', 'The server is shutting down.'));
    await worker?.terminate();
  }

  #launch(): void {
    const script = programFile('inference/schemas/worker');
    // A clean environment, except for Node's compile cache: without it, the thread would compile all sources again.
    const cacheFolder = getCompileCacheDir();
    const env = cacheFolder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cacheFolder) };
    const worker = new Worker(script, { execArgv: [], env, resourceLimits: limits });
    this.#worker = worker;
    worker.unref();
    worker.on('message', (message: FromSchemaWorker) => {
      if (worker === this.#worker) this.#receive(message);
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#lose(error);
    });
    worker.on('exit', () => {
      if (worker === this.#worker) this.#lose(new Error('the thread ended'));
    });
  }

  #receive({ verdict, spentMs }: FromSchemaWorker): void {
    const [first] = this.#work;
    if (!verdict) {
      this.#isReady = true;
      this.#spentMs = spentMs;
      this.#begin();
    } else if (first) {
      first.verdicts.push(verdict);
      if (first.verdicts.length < first.job.steps.length) return;
      this.#spentMs = spentMs;
      this.#finish();
    }
  }

  #begin(): void {
    if (this.#work.length === 0) return this.#deps.onIdle();
    this.#worker?.postMessage(this.#toMessage(this.#work.flatMap(({ job }) => job.steps)));
    this.#watchFirst();
  }

  #watchFirst(): void {
    this.#begunAt = this.#deps.clock.monotonic();
    this.#watch(this.#work[0]!.job.limitMs);
  }

  #watch(leftMs: number): void {
    this.#timer = this.#deps.clock.after(leftMs, () => void this.#checkLimit());
  }

  /** Kills the first job if it has used up its processor time, or, on a machine busy with other work, its wall-clock time. */
  async #checkLimit(): Promise<void> {
    const worker = this.#worker;
    const [first] = this.#work;
    if (!worker || !first) return;
    const totalMs = await processorMs(worker);
    if (worker !== this.#worker || first !== this.#work[0]) return;
    const { job, verdicts } = first;
    const passedMs = this.#deps.clock.monotonic() - this.#begunAt;
    const takenMs = totalMs === null ? passedMs : totalMs - this.#spentMs;
    const leftMs = Math.min(job.limitMs - takenMs, wallClockFactor * job.limitMs - passedMs);
    if (leftMs > 0) return this.#watch(Math.max(20, leftMs));
    const bytes = job.steps[verdicts.length]?.source.length;
    this.#deps.log.warn({ org: job.orgId, schema_bytes: bytes }, 'a schema took too long and was stopped');
    this.#kill();
  }

  /** Adds the sources that the thread has not compiled. */
  #toMessage(steps: SchemaStep[]): ToSchemaWorker {
    const posted = steps.map(({ number, source, text }) => {
      const isCompiled = this.#compiled.delete(number);
      this.#compiled.set(number, source.length);
      if (!isCompiled) this.#characters += source.length;
      return isCompiled && text !== null ? { number, text } : { number, source, text };
    });
    return { steps: posted, forget: this.#excess(steps.length) };
  }

  /** Removes and returns the least recently used schemas over the limits, but none of the `used` last ones. */
  #excess(used: number): number[] {
    const forget: number[] = [];
    for (const [number, length] of this.#compiled) {
      const isWithinLimits =
        this.#compiled.size <= maxCompiled.schemas && this.#characters <= maxCompiled.characters;
      if (isWithinLimits || this.#compiled.size <= used) break;
      this.#compiled.delete(number);
      this.#characters -= length;
      forget.push(number);
    }
    return forget;
  }

  #finish(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const done = this.#work.shift();
    done?.resolve(done.verdicts);
    if (this.#work.length > 0) this.#watchFirst();
    else this.#deps.onIdle();
  }

  /** Ends the running step as too much, and runs the other jobs in a new thread, which is started in any case. */
  #kill(): void {
    void this.#dismiss()?.terminate();
    const killed = this.#work.shift();
    killed?.verdicts.push({ kind: 'too much' });
    killed?.resolve(killed.verdicts);
    this.#launch();
    if (this.#work.length === 0) this.#deps.onIdle();
  }

  #lose(error: Error): void {
    if (this.#isReady && this.#work.length > 0) return this.#kill();
    this.#dismiss();
    this.#deps.log.error({ err: error }, 'the schema thread has died');
    this.#rejectAll(new Error('the schema thread cannot be started', { cause: error }));
    this.#deps.onIdle();
  }

  #rejectAll(error: Error): void {
    for (const work of this.#work.splice(0)) work.reject(error);
  }

  #dismiss(): Worker | null {
    const worker = this.#worker;
    this.#worker = null;
    this.#isReady = false;
    this.#timer?.cancel();
    this.#timer = null;
    this.#compiled.clear();
    this.#characters = 0;
    return worker;
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

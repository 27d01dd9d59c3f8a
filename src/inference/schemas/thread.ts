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
  /** Told when it has done all its work, and when it can take some again. */
  onIdle: () => void;
}

/** A job and who waits for it. */
export interface SchemaWork {
  job: SchemaJob;
  /** Those that are known; one for each step in the end. */
  verdicts: SchemaVerdict[];
  resolve(verdicts: SchemaVerdict[]): void;
  reject(error: Error): void;
}

const limits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** So many times its limit a job may last by the clock, however little of the processor it was given. */
const patience = 10;
/** What a thread keeps compiled; a batch usually repeats one schema. */
const kept = { schemas: 256, characters: 1_048_576 } as const;

/**
 * A worker thread that does one job after the other, started with its first. A job that takes too much time, or all memory,
 * costs the thread its life and nobody else anything: another one takes its place, and the jobs behind it.
 */
export class SchemaThread {
  #parts: SchemaThreadDeps;
  #worker: Worker | null = null;
  #isReady = false;
  /** The first one is being done. */
  #work: SchemaWork[] = [];
  #timer: Timer | null = null;
  /** Processor time that the thread had taken when the first job began, and the monotonic instant of that. */
  #spentMs = 0;
  #begunAt = 0;
  /** By number: how long the source is of each schema that it has compiled. The one used last stands last. */
  #held = new Map<number, number>();
  #characters = 0;

  constructor(parts: SchemaThreadDeps) {
    this.#parts = parts;
  }

  /** A thread that takes the place of another is no thread for a job before it is there. */
  get isIdle(): boolean {
    return this.#work.length === 0 && (this.#isReady || !this.#worker);
  }

  knows(number: number): boolean {
    return this.#held.has(number);
  }

  /** Only while it is idle. All of it goes in one message. */
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
    // None of the parent's flags, and nothing of its environment but where Node keeps what it made of the sources: else the
    // thread would make all of it anew, with Node's compiler in its memory.
    const versions = getCompileCacheDir();
    const env = versions === undefined ? {} : { NODE_COMPILE_CACHE: dirname(versions) };
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

  /** Gives the thread all that there is to do. */
  #begin(): void {
    if (this.#work.length === 0) return this.#parts.onIdle();
    this.#worker?.postMessage(this.#posted(this.#work.flatMap(({ job }) => job.steps)));
    this.#watchFirst();
  }

  #watchFirst(): void {
    this.#begunAt = this.#parts.clock.monotonic();
    this.#watch(this.#work[0]!.job.limitMs);
  }

  #watch(leftMs: number): void {
    this.#timer = this.#parts.clock.after(leftMs, () => void this.#look());
  }

  /**
   * Gives the first job up if it has had its time. What the machine gave to others, on a busy day most of it, is not counted,
   * unless it is so much that those who wait behind it would wait for ever.
   */
  async #look(): Promise<void> {
    const worker = this.#worker;
    const [first] = this.#work;
    if (!worker || !first) return;
    const totalMs = await processorMs(worker);
    if (worker !== this.#worker || first !== this.#work[0]) return;
    const { job, verdicts } = first;
    const passedMs = this.#parts.clock.monotonic() - this.#begunAt;
    const takenMs = totalMs === null ? passedMs : totalMs - this.#spentMs;
    const leftMs = Math.min(job.limitMs - takenMs, patience * job.limitMs - passedMs);
    if (leftMs > 0) return this.#watch(Math.max(20, leftMs));
    const bytes = job.steps[verdicts.length]?.source.length;
    this.#parts.log.warn({ org: job.orgId, schema_bytes: bytes }, 'a schema took too long and was given up');
    this.#sacrifice();
  }

  /** The sources that the thread does not have go with the steps. */
  #posted(steps: SchemaStep[]): ToSchemaWorker {
    const posted = steps.map(({ number, source, text }) => {
      const isHeld = this.#held.delete(number);
      this.#held.set(number, source.length);
      if (!isHeld) this.#characters += source.length;
      return isHeld && text !== null ? { number, text } : { number, source, text };
    });
    return { steps: posted, forget: this.#excess(steps.length) };
  }

  /** What is given up for new schemas: what was not used for the longest time, and nothing of the present job. */
  #excess(used: number): number[] {
    const forget: number[] = [];
    for (const [number, length] of this.#held) {
      if (this.#held.size <= kept.schemas && this.#characters <= kept.characters) break;
      if (this.#held.size <= used) break;
      this.#held.delete(number);
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
    else this.#parts.onIdle();
  }

  /** The step at work ends as too much; the other jobs begin again in a new thread, which is made ready in any case. */
  #sacrifice(): void {
    void this.#dismiss()?.terminate();
    const given = this.#work.shift();
    given?.verdicts.push({ kind: 'too much' });
    given?.resolve(given.verdicts);
    this.#launch();
    if (this.#work.length === 0) this.#parts.onIdle();
  }

  #lose(error: Error): void {
    if (this.#isReady && this.#work.length > 0) return this.#sacrifice();
    this.#dismiss();
    this.#parts.log.error({ err: error }, 'the thread for schemas is gone');
    this.#rejectAll(new Error('the thread for schemas cannot be started', { cause: error }));
    this.#parts.onIdle();
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
    this.#held.clear();
    this.#characters = 0;
    return worker;
  }
}

/** Processor time that a thread has taken since its start; null where it has ended, and of a Node before 24.6, which does not tell. */
async function processorMs(worker: Worker): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch {
    return null;
  }
}

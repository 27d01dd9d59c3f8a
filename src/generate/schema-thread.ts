import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../core/errors.ts';

/** A schema to try, or a text to hold against one. */
export interface SchemaJob {
  /** JSON text. */
  schema: string;
  text: string | null;
}

export type SchemaVerdict =
  | { kind: 'fine' }
  | { kind: 'fault'; fault: string }
  /** It took longer, or more memory, than it may. */
  | { kind: 'too much' };

export type FromSchemaWorker = 'ready' | { id: number; verdict: SchemaVerdict };

export interface SchemaThreadParts {
  /** How long one job may take. */
  limitMs: number;
  clock: Clock;
  log: Log;
}

interface Pending {
  id: number;
  job: SchemaJob;
  resolve(verdict: SchemaVerdict): void;
  reject(error: Error): void;
}

const megabytes = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/**
 * A worker thread that does one job after the other. Started with its first job; a job that takes too long, or all memory,
 * costs the thread its life and nobody else anything: the others go to the next one.
 */
export class SchemaThread {
  #parts: SchemaThreadParts;
  /** First come, first served; the first one is at work. */
  #pending: Pending[] = [];
  #worker: Worker | null = null;
  #isReady = false;
  #timer: Timer | null = null;
  #lastId = 0;
  #stopped = false;

  constructor(parts: SchemaThreadParts) {
    this.#parts = parts;
  }

  /** Jobs that were not answered yet. */
  get waiting(): number {
    return this.#pending.length;
  }

  run(job: SchemaJob): Promise<SchemaVerdict> {
    if (this.#stopped) return Promise.reject(new ApiError('shutting_down', 'The server is shutting down.'));
    return new Promise((resolve, reject) => {
      const pending = { id: ++this.#lastId, job, resolve, reject };
      this.#pending.push(pending);
      if (!this.#worker) this.#launch();
      else if (this.#isReady) this.#post(pending);
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const worker = this.#dismiss();
    this.#rejectAll(new ApiError('shutting_down', 'The server is shutting down.'));
    await worker?.terminate();
  }

  #launch(): void {
    const own = fileURLToPath(import.meta.url);
    const script = new URL(`./schema-worker${extname(own)}`, import.meta.url);
    // None of the parent's flags, and nothing of its environment.
    const worker = new Worker(script, { execArgv: [], env: {}, resourceLimits: megabytes });
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

  #receive(message: FromSchemaWorker): void {
    if (message === 'ready') {
      this.#isReady = true;
      for (const pending of this.#pending) this.#post(pending);
      return;
    }
    this.#timer?.cancel();
    this.#timer = null;
    const done = this.#pending.shift();
    done?.resolve(message.verdict);
    if (this.#pending.length > 0) this.#watch();
  }

  #post({ id, job }: Pending): void {
    this.#worker?.postMessage({ id, ...job });
    if (!this.#timer) this.#watch();
  }

  /** Watches over the first job. */
  #watch(): void {
    const { clock, limitMs, log } = this.#parts;
    const [watched] = this.#pending;
    this.#timer = clock.after(limitMs, () => {
      // A parent that was itself held up finds the answer waiting: it is read before this is.
      this.#timer = clock.after(1, () => {
        if (this.#pending[0] !== watched) return;
        log.warn({ schema_bytes: watched?.job.schema.length }, 'a schema took too long and was given up');
        this.#sacrifice();
      });
    });
  }

  /** The first job ends as too much; the others start again in another thread, which is made ready in any case. */
  #sacrifice(): void {
    void this.#dismiss()?.terminate();
    this.#pending.shift()?.resolve({ kind: 'too much' });
    this.#launch();
  }

  #lose(error: Error): void {
    if (this.#isReady && this.#pending.length > 0) return this.#sacrifice();
    this.#dismiss();
    this.#parts.log.error({ err: error }, 'the thread for schemas is gone');
    this.#rejectAll(new Error('the thread for schemas cannot be started', { cause: error }));
  }

  #dismiss(): Worker | null {
    const worker = this.#worker;
    this.#worker = null;
    this.#isReady = false;
    this.#timer?.cancel();
    this.#timer = null;
    return worker;
  }

  #rejectAll(error: Error): void {
    for (const pending of this.#pending.splice(0)) pending.reject(error);
  }
}

import type { Clock } from '../../src/base/clock.ts';

/** Speed of a server with continuous batching: each step gives every running request one token. */
export interface BatchingCurve {
  /** Milliseconds of a step by running requests, in ascending order: linear between them and beyond. At least two. */
  steps: readonly (readonly [running: number, ms: number])[];
  /** Milliseconds to read one token of a prompt, and the most tokens read in one step. */
  readMs: number;
  readsPerStep: number;
  /** Requests that run at once; others queue, first in, first out. */
  maxRunning: number;
  /** Requests at the server from which new ones are refused; none if absent. */
  refusesAbove?: number;
}

/** A request: tokens of its prompt, and of its answer. */
export interface BatchingRequest {
  prompt: number;
  tokens: number;
  signal: AbortSignal;
  /** Called with each token of the answer. */
  onToken?: () => void;
}

interface Job extends BatchingRequest {
  /** Tokens of the prompt that are still to read. */
  unread: number;
  made: number;
  end: (error?: unknown) => void;
}

export type BatchingServer = ReturnType<typeof createBatchingServer>;

/** A server with continuous batching on a clock: virtual for tests, that of the machine for benchmarks over HTTP. */
export function createBatchingServer(clock: Clock, initial: BatchingCurve) {
  let curve = initial;
  const running: Job[] = [];
  const queue: Job[] = [];
  /** End of the current step, with fractions; null while idle. */
  let stepEnds: number | null = null;
  let longestQueue = 0;
  let tokens = 0;

  function begin(from: number): void {
    while (running.length < curve.maxRunning && queue.length > 0) running.push(queue.shift()!);
    if (running.length === 0) return void (stepEnds = null);
    let reads = curve.readsPerStep;
    for (const job of running) {
      const read = Math.min(reads, job.unread);
      job.unread -= read;
      reads -= read;
    }
    stepEnds = from + stepMs(curve, running.length) + (curve.readsPerStep - reads) * curve.readMs;
    clock.after(Math.max(0, stepEnds - clock.monotonic()), step);
  }

  function step(): void {
    for (const job of running.filter(({ unread }) => unread === 0)) {
      job.made++;
      job.onToken?.();
      if (job.made >= job.tokens) leave(job);
    }
    begin(stepEnds!);
  }

  function leave(job: Job, error?: unknown): void {
    for (const list of [running, queue]) if (list.includes(job)) list.splice(list.indexOf(job), 1);
    if (error === undefined) tokens += job.made;
    job.end(error);
  }

  return {
    /** Resolves when the answer is complete. Rejects with the reason of an abort. */
    run: (request: BatchingRequest) =>
      new Promise<void>((resolve, reject) => {
        const { signal } = request;
        const abort = () => leave(job, signal.reason);
        const end = (error?: unknown) => {
          // Many requests may share a signal.
          signal.removeEventListener('abort', abort);
          if (error === undefined) resolve();
          else reject(error);
        };
        const job: Job = { ...request, unread: request.prompt, made: 0, end };
        signal.addEventListener('abort', abort);
        queue.push(job);
        // Requests of the same moment join the same step.
        if (stepEnds === null) {
          stepEnds = clock.monotonic();
          clock.after(0, () => begin(clock.monotonic()));
        }
        longestQueue = Math.max(longestQueue, queue.length);
      }),
    /** True where a new request is refused. */
    get isFull() {
      return running.length + queue.length >= (curve.refusesAbove ?? Infinity);
    },
    /** Requests at the server, running or queued. */
    get atServer() {
      return running.length + queue.length;
    },
    get queued() {
      return queue.length;
    },
    get longestQueue() {
      return longestQueue;
    },
    /** Tokens of all complete answers. */
    get tokens() {
      return tokens;
    },
    /** Replaces the speed, as if others began to use the card. */
    set: (changes: Partial<BatchingCurve>) => void (curve = { ...curve, ...changes }),
  };
}

/** Milliseconds of a step with so many requests. */
function stepMs({ steps }: BatchingCurve, running: number): number {
  const above = steps.findIndex(([count]) => count >= running);
  const at = above < 0 ? steps.length - 1 : Math.max(1, above);
  const [[from, fromMs], [to, toMs]] = [steps[at - 1]!, steps[at]!];
  return fromMs + ((toMs - fromMs) * (running - from)) / (to - from);
}

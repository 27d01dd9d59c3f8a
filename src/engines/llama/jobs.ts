import { onAbort } from '../../base/on-abort.ts';
import { ApiError } from '../../core/errors.ts';
import type { EngineResult, EngineRequest, Delta } from './protocol.ts';

/** Request for the child process. */
export interface EngineJob {
  id: number;
  ask: EngineRequest;
  signal: AbortSignal;
  priority: 'interactive' | 'batch';
  onDelta?(delta: Delta): void;
  resolve: (answer: EngineResult) => void;
  reject: (error: unknown) => void;
  /** Child processes that died while running it. */
  crashes: number;
  /** Part of the answer was delivered, so it cannot be repeated. */
  isAnswering: boolean;
}

export type NewEngineJob = Omit<EngineJob, 'id' | 'crashes' | 'isAnswering'>;

/** Jobs that wait for the child, and jobs in flight there. */
export function createJobQueue({ capacity }: { capacity: number }) {
  const waiting: EngineJob[] = [];
  const sent = new Map<number, EngineJob>();
  let lastId = 0;

  function take(index: number): EngineJob | undefined {
    const [job] = waiting.splice(index, 1);
    if (job) sent.set(job.id, job);
    return job;
  }

  function rejectWaiting(error: ApiError): void {
    for (const job of waiting.splice(0)) job.reject(error);
  }

  return {
    /** Queues a job. Returns a function to call when the job has ended. */
    add(incoming: NewEngineJob, abort: (id: number) => void): () => void {
      const job: EngineJob = { ...incoming, id: ++lastId, crashes: 0, isAnswering: false };
      const giveUp = (): void => {
        const at = waiting.indexOf(job);
        if (at !== -1) waiting.splice(at, 1);
        // In flight until the child confirms the abort: its slot is in use until then.
        else if (sent.has(job.id)) abort(job.id);
        job.reject(job.signal.reason);
      };
      if (job.signal.aborted) giveUp();
      else waiting.push(job);
      return onAbort(job.signal, giveUp);
    },

    /** The next job to send, counted as in flight from here on. */
    next(): EngineJob | undefined {
      if ([...sent.values()].some((job) => job.crashes > 0)) return undefined;
      const suspect = waiting.findIndex((job) => job.crashes > 0);
      if (suspect !== -1) return sent.size === 0 ? take(suspect) : undefined;
      // Counting takes no slot, and the first event of a stream may wait for it.
      const count = waiting.findIndex(({ ask }) => ask.op === 'count');
      if (count !== -1) return take(count);
      if (sent.size >= capacity) return undefined;
      const urgent = waiting.findIndex((job) => job.priority === 'interactive');
      return take(Math.max(0, urgent));
    },

    onDelta(id: number, delta: Delta): void {
      const job = sent.get(id);
      if (!job || job.signal.aborted) return;
      job.isAnswering = true;
      job.onDelta?.(delta);
    },

    /** Ends a job that the child finished. */
    settle(id: number, finish: (job: EngineJob) => void): void {
      const job = sent.get(id);
      sent.delete(id);
      if (job && !job.signal.aborted) finish(job);
    },

    /** Puts the jobs of a child that died back in front of the queue, or rejects them. */
    onCrash(how: string): void {
      const lost = [...sent.values()].filter((job) => !job.signal.aborted);
      sent.clear();
      for (const job of lost.toReversed()) {
        job.crashes++;
        const fault = crashError(job, how);
        if (fault) job.reject(fault);
        else waiting.unshift(job);
      }
    },

    rejectWaiting,
    rejectAll(error: ApiError): void {
      rejectWaiting(error);
      for (const job of sent.values()) job.reject(error);
      sent.clear();
    },
    get inFlight() {
      return sent.size;
    },
  };
}

/** Error of a job whose child died, or undefined to run it again. */
function crashError({ crashes, isAnswering }: EngineJob, how: string): ApiError | undefined {
  const process = `The engine process ${how}`;
  if (crashes > 1)
    return new ApiError('poison_request', `${process} both times it ran this request.`, {
      shouldRetry: false,
    });
  if (!isAnswering) return undefined;
  return new ApiError('upstream_error', `${process} in the middle of the answer. Try again.`);
}

import { availableParallelism } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { createFairGate } from '../../base/fair-gate.ts';
import type { Log } from '../../base/log.ts';
import { ApiError } from '../../core/errors.ts';
import type { SchemaVerdict } from './checker.ts';
import { type SchemaStep, SchemaThread } from './thread.ts';

/** Runs steps of any cost: in threads in the service, in the same thread in the simulation. */
export interface SchemaThreads {
  /**
   * Runs `work` with a thread of its own.
   * @param signal ends the wait for a thread
   * @throws ApiError `engine_overloaded` if too many requests of the org wait; the signal's reason
   */
  within<T>(
    orgId: string,
    signal: AbortSignal | undefined,
    work: (run: (step: SchemaStep) => Promise<SchemaVerdict>) => Promise<T>,
  ): Promise<T>;
  stop(): Promise<void>;
}

export interface SchemaThreadsDeps {
  clock: Clock;
  log: Log;
  cores?: number;
  newThread?: () => Pick<SchemaThread, 'run' | 'stop'>;
}

/** Requests of one org that may wait for a thread. */
const maxWaiting = 1_000;

/** Two to four threads, one less than the cores. Orgs take turns, and one thread is always left to other orgs. */
export function createSchemaThreads(deps: SchemaThreadsDeps): SchemaThreads {
  const { clock, log, cores = availableParallelism() } = deps;
  const { newThread = () => new SchemaThread(clock, log) } = deps;
  const capacity = Math.max(2, Math.min(4, cores - 1));
  const gate = createFairGate({ capacity, maxPerOwner: capacity - 1, maxWaiting, fullError });
  const threads: ReturnType<typeof newThread>[] = [];
  const idle: typeof threads = [];

  return {
    within: (orgId, signal, work) =>
      gate.within(orgId, 1, signal, async () => {
        let thread = idle.pop();
        if (!thread) threads.push((thread = newThread()));
        try {
          return await work(thread.run.bind(thread));
        } finally {
          idle.push(thread);
        }
      }),
    async stop() {
      await Promise.all(threads.map((thread) => thread.stop()));
    },
  };
}

const fullError = () =>
  new ApiError(
    'engine_overloaded',
    'Too many of your requests are waiting for a thread that checks their schemas or answers.',
    {
      retryAfter: 5,
    },
  );

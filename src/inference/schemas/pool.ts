import { availableParallelism } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { onAbort } from '../../base/on-abort.ts';
import { ApiError } from '../../core/errors.ts';
import type { SchemaRunner, SchemaVerdict } from './job.ts';
import { SchemaThread, type SchemaThreadDeps, type SchemaWork } from './thread.ts';

export interface SchemaPoolDeps {
  clock: Clock;
  log: Log;
  /** At least 2; by default the number of cores less one, at most 4. */
  threads?: number;
  newThread?: (deps: SchemaThreadDeps) => PoolThread;
}

type PoolThread = Pick<SchemaThread, 'isIdle' | 'knows' | 'take' | 'stop'>;

const maxJobsPerTake = 8;
const shortMs = 5;

/** The jobs and thread time of one org. */
interface Share {
  waiting: SchemaWork[];
  /** Threads that work for the org. */
  running: number;
  /** Jobs per message to a thread; several while they are short, because a message costs more than a short job. */
  jobsPerTake: number;
  /** Thread time so far, in milliseconds of virtual time. */
  served: number;
}

interface Member {
  thread: PoolThread;
  /** The share that the thread works for, and since when. */
  share: Share | null;
  began: number;
}

/**
 * Thread pool with start-time fair queuing: the org with the least thread time goes first, however many jobs another has sent,
 * and one thread is always left for other orgs. An org that returns starts at the time of the active orgs, so that idling earns
 * no credit.
 */
export function createSchemaPool(deps: SchemaPoolDeps): SchemaRunner {
  const { clock, log, threads = Math.min(4, availableParallelism() - 1) } = deps;
  const { newThread = (threadDeps: SchemaThreadDeps) => new SchemaThread(threadDeps) } = deps;
  const size = Math.max(2, threads);
  const shares = new Map<string, Share>();
  const members: Member[] = [];
  let time = 0;
  let stopped = false;

  function shareOf(orgId: string): Share {
    let share = shares.get(orgId);
    if (!share) shares.set(orgId, (share = { waiting: [], running: 0, jobsPerTake: 1, served: 0 }));
    return share;
  }

  /** Finds the next share, and drops those without jobs and debt. */
  function next(): Share | null {
    if (stopped) return null;
    let first: Share | null = null;
    for (const [orgId, share] of shares) {
      const { waiting, running, served } = share;
      if (waiting.length === 0 && running === 0 && served <= time) shares.delete(orgId);
      else if (waiting.length > 0 && running < size - 1 && served < (first?.served ?? Infinity))
        first = share;
    }
    return first;
  }

  /** Finds an idle thread, preferably one that has compiled the schema. */
  function threadFor(number: number | undefined): Member | null {
    const idle = members.filter(({ thread }) => thread.isIdle);
    const found = idle.find(({ thread }) => number !== undefined && thread.knows(number)) ?? idle[0];
    if (found || members.length === size) return found ?? null;
    const thread = newThread({ clock, log, onIdle: () => release(member) });
    const member: Member = { thread, share: null, began: 0 };
    members.push(member);
    return member;
  }

  function dispatch(): void {
    for (let share = next(); share; share = next()) {
      const member = threadFor(share.waiting[0]?.job.steps[0]?.number);
      if (!member) return;
      time = Math.max(time, share.served);
      share.running++;
      member.share = share;
      member.began = clock.monotonic();
      member.thread.take(share.waiting.splice(0, share.jobsPerTake));
    }
  }

  function release(member: Member): void {
    const { share, began } = member;
    member.share = null;
    if (share) {
      const ms = clock.monotonic() - began;
      share.running--;
      share.served += ms;
      share.jobsPerTake = ms <= shortMs ? Math.min(maxJobsPerTake, share.jobsPerTake * 2) : 1;
    }
    dispatch();
  }

  return {
    waiting: (orgId) => shares.get(orgId)?.waiting.length ?? 0,

    async run(job, signal) {
      if (stopped) throw shuttingDown();
      signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<SchemaVerdict[]>();
      const share = shareOf(job.orgId);
      if (share.waiting.length === 0 && share.running === 0) share.served = Math.max(share.served, time);
      const work = { job, verdicts: [], resolve, reject };
      share.waiting.push(work);
      dispatch();
      if (!signal) return promise;
      const leave = () => {
        const at = share.waiting.indexOf(work);
        if (at < 0) return;
        share.waiting.splice(at, 1);
        reject(signal.reason);
      };
      return promise.finally(onAbort(signal, leave));
    },

    async stop() {
      stopped = true;
      for (const { waiting } of shares.values())
        for (const work of waiting.splice(0)) work.reject(shuttingDown());
      await Promise.all(members.map(({ thread }) => thread.stop()));
    },
  };
}

const shuttingDown = () => new ApiError('shutting_down', 'The server is shutting down.');

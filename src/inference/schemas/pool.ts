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
  /** Two at least; when absent, one less than there are cores, and four at most. */
  threads?: number;
  newThread?: (parts: SchemaThreadDeps) => PoolThread;
}

type PoolThread = Pick<SchemaThread, 'isIdle' | 'knows' | 'take' | 'stop'>;

const maxJobsPerTake = 8;
const shortMs = 5;

/** What an org wants and has got. */
interface Share {
  waiting: SchemaWork[];
  /** Threads at work for it. */
  running: number;
  /** Jobs that a thread is given at once: more while they are short, because a message costs more than a short job. */
  atOnce: number;
  /** Thread time it was given, in milliseconds of virtual time. */
  served: number;
}

interface Member {
  thread: PoolThread;
  /** For whom it is at work, and since when. */
  share: Share | null;
  began: number;
}

/**
 * Threads for schemas, and whose turn it is: the org that was given the least of their time goes first, however many jobs
 * another has sent, and one thread is always left for the others. An org that was away re-enters at the time of those at
 * work, so that idling earns no credit (start-time fair queuing).
 */
export function createSchemaPool(parts: SchemaPoolDeps): SchemaRunner {
  const { clock, log, threads = Math.min(4, availableParallelism() - 1) } = parts;
  const { newThread = (of: SchemaThreadDeps) => new SchemaThread(of) } = parts;
  const size = Math.max(2, threads);
  const shares = new Map<string, Share>();
  const members: Member[] = [];
  let time = 0;
  let stopped = false;

  function shareOf(orgId: string): Share {
    let share = shares.get(orgId);
    if (!share) shares.set(orgId, (share = { waiting: [], running: 0, atOnce: 1, served: 0 }));
    return share;
  }

  /** The share whose turn it is. Those that want nothing and owe nothing are forgotten on the way. */
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

  /** The thread that has compiled the schema already, if it is idle. */
  function threadFor(number: number | undefined): Member | null {
    const idle = members.filter(({ thread }) => thread.isIdle);
    const found = idle.find(({ thread }) => number !== undefined && thread.knows(number)) ?? idle[0];
    if (found || members.length === size) return found ?? null;
    const thread = newThread({ clock, log, onIdle: () => rest(member) });
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
      member.thread.take(share.waiting.splice(0, share.atOnce));
    }
  }

  /** What the work has cost is known only now. */
  function rest(member: Member): void {
    const { share, began } = member;
    member.share = null;
    if (share) {
      const ms = clock.monotonic() - began;
      share.running--;
      share.served += ms;
      share.atOnce = ms <= shortMs ? Math.min(maxJobsPerTake, share.atOnce * 2) : 1;
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

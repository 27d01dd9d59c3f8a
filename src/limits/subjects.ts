import { type Clock, dayMs, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { readUse } from '../core/shared-use.ts';
import { failureFields } from '../core/retry-log.ts';
import type { LimitStore } from '../store/contract/limits.ts';
import type { Need, Subject } from './admit.ts';
import type { LimitedOwner, SubjectUse } from './limit-use.ts';
import { LocalSubject } from './local-subject.ts';
import { type Reason, SharedSubject } from './shared-subject.ts';
import { SubjectMap } from './subject-map.ts';

/** Orgs and keys with use of their limits. */
export interface Subjects extends Service {
  readonly size: number;
  of(id: string, now: number): Subject;
  /** Use of the limits of orgs and keys by all processes, in their order. */
  read(owners: readonly LimitedOwner[]): Promise<SubjectUse[]>;
  /** Takes shares for needs that lack them. Resolves when they should be checked again. */
  fetch(needs: readonly Need[]): Promise<void>;
}

/** Subjects of a process that alone uses its database. */
export function createLocalSubjects(clock: Pick<Clock, 'monotonic'>): Subjects {
  const subjects = new SubjectMap(() => new LocalSubject());
  const unused: SubjectUse = { meters: {}, inFlight: 0 };
  return {
    get size() {
      return subjects.size;
    },
    of: (id, now) => subjects.of(id, now),
    read: async (owners) =>
      owners.map(({ id, limits }) => subjects.find(id)?.use(limits, clock.monotonic()) ?? unused),
    fetch: () => Promise.resolve(),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

/** Interval at which shares are renewed or returned. */
const beatMs = 1_000;
/** Subjects of one transaction. */
const groupSize = 100;

export interface SharedSubjectsDeps {
  store: LimitStore;
  /** Name of this process. */
  process: string;
  /** The database's time. */
  clock: Clock;
  log: Log;
}

/**
 * Subjects of one of several processes. Each takes shares from the database: what waiting requests need, in one transaction for all
 * of them, and once per second what the last second used, so that a steady load waits for no query.
 */
export function createSharedSubjects({ store, process, clock, log }: SharedSubjectsDeps): Subjects {
  // A request may end long after its subject became idle: its debt or credit is reported with the next beat.
  const subjects = new SubjectMap((id) => new SharedSubject(id, activate));
  const active = new Set<SharedSubject>();
  const wanted = new Set<SharedSubject>();
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  let timer: Timer | undefined;
  let isStopped = false;
  let fails = false;

  /** Exchanges run one after the other, because each depends on the shares before it. */
  function exchange(of: () => SharedSubject[], reason: Reason): Promise<void> {
    const run = async () => {
      const all = of();
      for (let at = 0; at < all.length; at += groupSize)
        await exchangeGroup(all.slice(at, at + groupSize), reason);
    };
    const done = running.then(run);
    running = done.catch(() => {});
    return done;
  }

  async function exchangeGroup(group: readonly SharedSubject[], reason: Reason): Promise<void> {
    const requests = Object.fromEntries(
      group.map((subject) => [subject.id, subject.request(clock.monotonic(), reason)]),
    );
    let shares: Awaited<ReturnType<LimitStore['share']>> | undefined;
    try {
      shares = await store.share(process, requests, clock.now());
    } finally {
      for (const subject of group) {
        subject.receive(shares?.[subject.id], clock.monotonic());
        if (subject.isActive) active.add(subject);
        else active.delete(subject);
      }
      schedule();
    }
  }

  function activate(subject: SharedSubject): void {
    active.add(subject);
    schedule();
  }

  function schedule(): void {
    if (active.size > 0 && !isStopped) timer ??= clock.after(beatMs, beat);
  }

  function beat(): void {
    timer = undefined;
    void exchange(() => [...active], 'beat').then(
      () => (fails = false),
      (error: unknown) => {
        if (!fails)
          log.warn(failureFields(error), 'could not share the limits of requests with other processes');
        fails = true;
      },
    );
  }

  return {
    get size() {
      return subjects.size;
    },
    of: (id, now) => subjects.of(id, now),

    async read(owners) {
      const uses = await store.read(owners.map(({ id }) => id));
      return owners.map(({ id, limits }) => {
        const own = subjects.find(id)?.own ?? { unused: {}, inFlight: 0 };
        return readUse(uses[id] ?? { meters: {}, held: {} }, process, limits, own, clock.now());
      });
    },

    fetch(needs) {
      for (const { subject, bucket, amount, limit } of needs) {
        (bucket as ReturnType<SharedSubject['bucket']>).want(amount, limit);
        wanted.add(subject as SharedSubject);
      }
      next ??= exchange(() => {
        next = undefined;
        const all = [...wanted];
        wanted.clear();
        return all;
      }, 'need');
      return next;
    },

    start: () => store.removeUnused(clock.now() - dayMs),

    async stop() {
      isStopped = true;
      timer?.cancel();
      await exchange(() => [...active], 'stop').catch(() => {});
    },
  };
}

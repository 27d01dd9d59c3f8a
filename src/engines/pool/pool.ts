import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { ApiError } from '../../core/errors.ts';
import type { Pool } from '../engines.ts';
import { createCalls } from './calls.ts';
import { commonCapabilities } from './common-capabilities.ts';
import { createAdmissionQueue } from './admission-queue.ts';
import { Outcomes } from './health/outcomes.ts';
import { Replica, type ReplicaOptions } from './replica.ts';

export interface PoolOptions {
  /** At least one. */
  replicas: readonly ReplicaOptions[];
  /** Whether other processes ask the same servers. */
  isShared?: boolean;
  /** How long a request that somebody waits for may wait for a place. */
  queueMs?: number;
  /** How long batches have: no pause that a server asks for is held so long that one could not be run after it. */
  windowMs?: number;
  clock: Clock;
  random: Random;
  log: Log;
}

/** A pool whose servers may be others while it runs. */
export interface ReconfigurablePool extends Pool {
  /**
   * Asks these from now on, at least one. Those of an engine that was among them before go on as they are; what others
   * have in flight ends there.
   */
  replaceReplicas(next: readonly ReplicaOptions[]): Promise<void>;
}

const defaultQueueMs = 120_000;
const usualWindowMs = 86_400_000;

/** Builds the pool of a model's replicas (engines.ts, `Pool`). It starts and stops their engines. */
export function createPool({
  queueMs = defaultQueueMs,
  windowMs = usualWindowMs,
  isShared = false,
  clock,
  random,
  log,
  ...options
}: PoolOptions): ReconfigurablePool {
  const replicas = options.replicas.map(replicaOf);
  if (replicas.length === 0) throw new Error('a pool has at least one replica');
  /** Servers that are asked no more, and end what they have. */
  const ending = new Set<Replica>();
  const listeners = new Set<() => void>();
  let isStopped = false;
  const fared = new Outcomes();
  const capabilities = commonCapabilities(replicas);
  const entrance = createAdmissionQueue(replicas, clock, queueMs);

  function replicaOf(one: ReplicaOptions): Replica {
    const onTried = (at: number, works: boolean) =>
      works ? fared.answered(at) : fared.failed(clock.monotonic(), false);
    return new Replica(one, { clock, random, log, windowMs, onChange: () => changed(), onTested: onTried });
  }

  /** Asked for several times a line: it allocates nothing. */
  function sum(of: 'slots' | 'maxInFlight'): number {
    let total = 0;
    for (const replica of replicas) total += replica[of];
    return total;
  }
  const slots = () => sum('slots');
  const aServer = () => replicas.find((replica) => replica.isUp) ?? replicas[0]!;

  /** There may be room, or none any more: those who wait are let in, or told. */
  function changed(): void {
    entrance.admitWaiting();
    entrance.rejectWaiting();
    for (const listener of listeners) listener();
  }

  async function end(replica: Replica): Promise<void> {
    ending.add(replica);
    await replica.end();
    await replica.engine.stop();
    ending.delete(replica);
  }

  const probe = async () => {
    await Promise.all(replicas.map((replica) => replica.health.probe()));
    return { slots: slots(), queued: null };
  };

  return {
    get capabilities() {
      return capabilities();
    },
    get slots() {
      return Math.max(1, slots());
    },
    get maxInFlight() {
      return sum('maxInFlight');
    },
    isShared,
    outcomes: fared,
    get waiting() {
      return entrance.waiting;
    },
    get replicas() {
      return replicas.map(({ state }) => state);
    },
    get discovered() {
      // Asked for with every line; most servers were told their slots.
      if (replicas.every(({ discovered: most }) => most === null)) return undefined;
      return Object.fromEntries(
        replicas.flatMap(({ name, discovered: most }) => (most === null ? [] : [[name, most] as const])),
      );
    },
    get closedServers() {
      const closed = replicas.flatMap((each) =>
        each.openForPeers ? [[each.name, each.openForPeers] as const] : [],
      );
      return closed.length > 0 ? Object.fromEntries(closed) : undefined;
    },
    share(share) {
      const all = Math.max(1, slots());
      for (const replica of replicas) {
        const { name } = replica;
        const others = ((share?.others ?? 0) * replica.slots) / all;
        replica.share(others, share?.found?.[name] ?? null, share?.before?.[name]);
      }
      for (const replica of replicas) replica.applyPeerReport(share?.closed?.[replica.name]);
    },
    onRoom: (listener) => void listeners.add(listener),

    async start() {
      await Promise.all(replicas.map(({ engine }) => engine.start()));
      // Nobody waits for servers that may be away.
      void probe();
    },

    async stop() {
      isStopped = true;
      const all = [...replicas, ...ending];
      for (const replica of all) replica.stop();
      entrance.close(new ApiError('shutting_down', 'The engine is being stopped.'));
      await Promise.all(all.map(({ engine }) => engine.stop()));
    },

    async replaceReplicas(asked) {
      const known = new Map(replicas.map((replica) => [replica.engine, replica]));
      const added = asked.filter(({ engine }) => !known.has(engine));
      await Promise.all(added.map(({ engine }) => engine.start()));
      if (isStopped) return void (await Promise.all(added.map(({ engine }) => engine.stop())));
      const kept = asked.map((one) => known.get(one.engine) ?? replicaOf(one));
      const gone = replicas.filter((replica) => !kept.includes(replica));
      replicas.splice(0, replicas.length, ...kept);
      for (const [at, replica] of kept.entries()) replica.set(asked[at]!);
      for (const replica of kept) if (!known.has(replica.engine)) void replica.health.probe();
      for (const replica of gone) void end(replica);
      changed();
    },

    ...createCalls({ replicas, entrance, clock, fared }),
    countTokens: (request) => aServer().engine.countTokens(request),
    tryOut: (signal) => aServer().engine.tryOut(signal),
    probe,
  };
}

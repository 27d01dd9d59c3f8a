import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { ApiError } from '../../core/errors.ts';
import type { Pool } from '../engines.ts';
import { createAdmissionQueue } from './admission-queue.ts';
import { createCalls } from './calls.ts';
import { commonCapabilities } from './common-capabilities.ts';
import type { SentRequest } from './concurrency/measurement.ts';
import { Outcomes } from './health/outcomes.ts';
import { Replica, type ReplicaOptions } from './replica.ts';

export interface PoolOptions {
  /** At least one. */
  replicas: readonly ReplicaOptions[];
  /** True where other processes use the same servers. */
  isShared?: boolean;
  /** Longest wait of an interactive request for a slot. */
  queueMs?: number;
  /** Shortest window of the batches; a `retry-after` is cut short so that a batch can still run after it. */
  windowMs?: number;
  /** Factor on the time of interactive requests that batches may cause (batch-engine.md, "Running"); `Infinity` for any. */
  maxSlowdown?: number | undefined;
  clock: Clock;
  random: Random;
  log: Log;
}

/** A pool whose replicas can be replaced at run time. */
export interface ReconfigurablePool extends Pool {
  /** Replaces the replicas, at least one. Those whose engine stays keep their state; removed ones finish their requests. */
  replaceReplicas(next: readonly ReplicaOptions[]): Promise<void>;
}

/** Builds the pool of a model's replicas. It starts and stops their engines. */
export function createPool({
  queueMs = 120_000,
  windowMs = 86_400_000,
  isShared = false,
  maxSlowdown = Infinity,
  clock,
  random,
  log,
  ...options
}: PoolOptions): ReconfigurablePool {
  const replicas = options.replicas.map(toReplica);
  if (replicas.length === 0) throw new Error('a pool has at least one replica');
  /** Removed replicas that finish their requests. */
  const ending = new Set<Replica>();
  const listeners = new Set<() => void>();
  let isDrained = (_name: string) => false;
  let capOf = (_name: string): number | null => null;
  let isStopped = false;
  const outcomes = new Outcomes();
  const capabilities = commonCapabilities(replicas);
  const queue = createAdmissionQueue(replicas, clock, queueMs);

  function toReplica(one: ReplicaOptions): Replica {
    const onTested = (at: number, works: boolean) =>
      works ? outcomes.answered(at) : outcomes.failed(clock.monotonic(), false);
    const onLeft = (sent: SentRequest) => queue.left(sent);
    return new Replica(one, {
      clock,
      random,
      log,
      windowMs,
      isShared,
      maxSlowdown,
      lineFloor: (slots) => Math.ceil((queue.guaranteed * slots) / Math.max(1, sum('slots'))),
      onChange: () => changed(),
      onLeft,
      onTested,
    });
  }

  /** Allocates nothing: it is called several times for each line. */
  function sum(of: 'slots' | 'maxInFlight' | 'maxLines'): number {
    let total = 0;
    for (const replica of replicas) total += replica[of];
    return total;
  }
  const anyUp = () => replicas.find((replica) => replica.isUp) ?? replicas[0]!;

  function changed(): void {
    queue.admitWaiting();
    queue.rejectWaiting();
    for (const listener of listeners) listener();
  }

  function applyControls(): void {
    for (const replica of replicas) {
      replica.drain(isDrained(replica.name));
      replica.cap(capOf(replica.name));
    }
  }

  async function end(replica: Replica): Promise<void> {
    ending.add(replica);
    await replica.end();
    await replica.engine.stop();
    ending.delete(replica);
  }

  const probe = async () => {
    await Promise.all(replicas.map((replica) => replica.health.probe()));
    return { slots: sum('slots'), queued: null };
  };

  return {
    get capabilities() {
      return capabilities();
    },
    get slots() {
      return Math.max(1, sum('slots'));
    },
    get maxInFlight() {
      return sum('maxInFlight');
    },
    get maxLines() {
      return sum('maxLines');
    },
    isShared,
    linesGiveWay: maxSlowdown < Infinity,
    outcomes,
    get waiting() {
      return queue.waiting;
    },
    get replicas() {
      return replicas.map(({ state }) => state);
    },
    get discovered() {
      // Read for every line, and most servers report their slots.
      if (replicas.every(({ discovered }) => discovered === null)) return undefined;
      return Object.fromEntries(
        replicas.flatMap(({ name, discovered }) =>
          discovered === null ? [] : [[name, discovered] as const],
        ),
      );
    },
    get openBreakers() {
      const closed = replicas.flatMap(({ name, openForPeers }) =>
        openForPeers ? [[name, openForPeers] as const] : [],
      );
      return closed.length > 0 ? Object.fromEntries(closed) : undefined;
    },
    share(share) {
      const slots = Math.max(1, sum('slots'));
      for (const replica of replicas) {
        const { name } = replica;
        const others = ((share?.others ?? 0) * replica.slots) / slots;
        const before = share ? (share.lastDiscovered?.[name] ?? null) : undefined;
        replica.share(others, share?.discovered?.[name] ?? null, before, share?.interactive ?? 0);
      }
      for (const replica of replicas) replica.applyPeerReport(share?.openBreakers?.[replica.name]);
      // The others may have left room within a cap.
      queue.admitWaiting();
    },
    drain(isMeant) {
      isDrained = isMeant;
      applyControls();
      changed();
    },
    cap(next) {
      capOf = next;
      applyControls();
      changed();
    },
    guaranteeBatches: (slots) => queue.guaranteeBatches(slots),
    onRoom: (listener) => void listeners.add(listener),

    async start() {
      await Promise.all(replicas.map(({ engine }) => engine.start()));
      // Not awaited, because servers may be unreachable.
      void probe();
    },

    async stop() {
      isStopped = true;
      const all = [...replicas, ...ending];
      for (const replica of all) replica.stop();
      queue.close(new ApiError('shutting_down', 'The engine is being stopped.'));
      await Promise.all(all.map(({ engine }) => engine.stop()));
    },

    async replaceReplicas(next) {
      const before = new Map(replicas.map((replica) => [replica.engine, replica]));
      const added = next.filter(({ engine }) => !before.has(engine));
      await Promise.all(added.map(({ engine }) => engine.start()));
      if (isStopped) return void (await Promise.all(added.map(({ engine }) => engine.stop())));
      const current = next.map((one) => before.get(one.engine) ?? toReplica(one));
      const removed = replicas.filter((replica) => !current.includes(replica));
      replicas.splice(0, replicas.length, ...current);
      for (const [at, replica] of current.entries()) replica.set(next[at]!);
      applyControls();
      for (const replica of current) if (!before.has(replica.engine)) void replica.health.probe();
      for (const replica of removed) void end(replica);
      changed();
    },

    ...createCalls(replicas, queue, clock, outcomes),
    countTokens: (request) => anyUp().engine.countTokens(request),
    tryOut: (signal) => anyUp().engine.tryOut(signal),
    probe,
  };
}

import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import type { EngineCall } from '../engines.ts';
import { chooseReplica } from './choose-replica.ts';
import type { SentRequest } from './concurrency/measurement.ts';
import { Holdings } from './holdings.ts';
import type { Replica } from './replica.ts';
import { WaitQueue } from './wait-queue.ts';

/** A request's slot at a replica, already counted as in flight. */
export interface Reservation {
  replica: Replica;
  sent: SentRequest;
}

export type AdmissionQueue = ReturnType<typeof createAdmissionQueue>;

/** Longest queue of interactive requests: for each slot, and at least. */
const maxWaiting = { perSlot: 16, min: 64 } as const;

/** Seconds after which a client may try a drained model again: its return is unknown, and a restart takes about that long. */
const drainedRetryAfter = 30;

/** Admits requests to `replicas` (they may change): at once, in turn (interactive ones within `queueMs`), or not at all. */
export function createAdmissionQueue(replicas: readonly Replica[], clock: Clock, queueMs: number) {
  const holdings = new Holdings();
  const queue = new WaitQueue<Reservation>(holdings);
  const draining = (): WaitingCause => ({
    scope: 'model',
    code: 'engine_overloaded',
    message: 'The operator of the server has drained every server of this model.',
    isDrained: true,
    since: Math.max(...replicas.map(({ drainingSince }) => drainingSince ?? 0)),
  });

  function waiting(): WaitingCause | null {
    if (replicas.some((replica) => replica.isUp)) return null;
    if (replicas.every(({ drainingSince }) => drainingSince !== null)) return draining();
    return replicas.map(({ health }) => health.breaker.waiting).find((cause) => cause !== null) ?? draining();
  }

  /** Error for a request that may not even wait. A suspicion, which the requests of others may have caused, stops only batches. */
  function refusal(priority: EngineCall['priority']): ApiError | null {
    const cause = waiting();
    if (!cause || (priority === 'interactive' && replicas.some((replica) => replica.isSuspected)))
      return null;
    const ms = Math.min(...replicas.map(({ health }) => health.breaker.msLeft));
    // Nothing was sent, so this is no evidence about the request.
    const scope = cause.scope === 'replica' ? 'model' : cause.scope;
    return new ApiError(cause.code, cause.message, {
      blame: { scope, certain: true, retry: true },
      retryAfter: cause.isDrained ? drainedRetryAfter : Math.max(1, Math.ceil(ms / 1000)),
      ...(cause.scope === 'account' && { shouldRetry: false }),
    });
  }

  /**
   * An interactive request is no trial of a suspected replica that it would be sent to anyway: a client whose requests are all
   * refused would otherwise keep batch lines from showing that the server works.
   */
  function reserveAt(replica: Replica, call: EngineCall): Reservation {
    const mayTry = call.priority === 'batch' || !replica.isSuspected || replicas.some((each) => each.isUp);
    const sent = replica.sent(call.priority, mayTry && replica.wantsTrial);
    holdings.add(sent, call);
    return { replica, sent };
  }

  const accepts = (replica: Replica, { priority }: EngineCall) =>
    replica.accepts(priority, holdings.isOwed(priority));

  /** A reservation now. A half-open replica is tried first: the others are there if it fails. */
  function find(call: EngineCall): Reservation | undefined {
    // Most models have one server.
    const only = replicas.length === 1 ? replicas[0] : undefined;
    if (only) return accepts(only, call) ? reserveAt(only, call) : undefined;
    const free = replicas.filter((replica) => accepts(replica, call));
    const up = free.filter((replica) => replica.isUp);
    const replica =
      free.find((each) => each.wantsTrial) ??
      chooseReplica(up.length > 0 ? up : free, replicas, call.prefix ?? '');
    return replica && reserveAt(replica, call);
  }

  /** A reservation at another working replica; null if there is none, undefined if none has room. */
  function findElsewhere(call: EngineCall, tried: ReadonlySet<Replica>): Reservation | undefined | null {
    const others = replicas.filter((each) => each.isUp && !tried.has(each));
    if (others.length === 0) return null;
    const free = others.filter((each) => accepts(each, call));
    const replica = chooseReplica(free, replicas, call.prefix ?? '');
    return replica && reserveAt(replica, call);
  }

  function maxInteractive(): number {
    const slots = replicas.reduce((sum, replica) => sum + replica.slots, 0);
    return Math.max(maxWaiting.min, maxWaiting.perSlot * slots);
  }

  function wait(call: EngineCall, findOne: () => Reservation | undefined): Promise<Reservation> {
    return queue.wait(call, findOne, (reject) =>
      call.priority === 'batch' ? null : clock.after(queueMs, () => reject(queueFull())),
    );
  }

  return {
    /** Reason why no replica takes requests; null while one does. */
    get waiting() {
      return waiting();
    },
    /** A reservation, at once or in turn. @throws ApiError why no replica takes requests, or that the queue is full */
    reserve(call: EngineCall): Reservation | Promise<Reservation> {
      call.signal.throwIfAborted();
      // Waiting requests go first.
      const free = queue.count(call.priority) === 0 ? find(call) : undefined;
      if (free) return free;
      const refused = refusal(call.priority);
      if (refused) throw refused;
      const isFull = call.priority === 'interactive' && queue.count('interactive') >= maxInteractive();
      if (isFull && !queue.makeRoom(call, queueFull())) throw queueFull();
      return wait(call, () => find(call));
    },
    /** Returns a reservation at a replica that was not tried; null where no such replica works. */
    reserveElsewhere(call: EngineCall, tried: ReadonlySet<Replica>) {
      const found = findElsewhere(call, tried);
      return found === undefined ? wait(call, () => findElsewhere(call, tried) ?? find(call)) : found;
    },
    /** Counts a request out whose server is done. */
    left: (sent: SentRequest) => holdings.remove(sent),
    /** Slots that batch lines get alongside any interactive requests. */
    get guaranteed() {
      return holdings.owed;
    },
    guaranteeBatches: (slots: () => number) => holdings.guaranteeBatches(slots),
    /** Admits waiting requests where there is room. */
    admitWaiting: () => queue.admit(),
    /** Rejects waiting requests that no replica will take. */
    rejectWaiting() {
      for (const priority of ['interactive', 'batch'] as const) {
        const refused = refusal(priority);
        if (refused) queue.reject(priority, refused);
      }
    },
    close(reason: ApiError) {
      queue.reject('interactive', reason);
      queue.reject('batch', reason);
    },
  };
}

function queueFull(): ApiError {
  return new ApiError('engine_overloaded', 'Too many requests are waiting for this model. Try again soon.', {
    blame: { scope: 'model', certain: true, retry: true },
    retryAfter: 5,
  });
}

import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import type { EngineCall } from '../engines.ts';
import { chooseReplica } from './choose-replica.ts';
import type { Replica } from './replica.ts';
import type { Sent } from './concurrency/adaptive-concurrency.ts';
import { WaitQueue } from './wait-queue.ts';

/** A request's place at a replica, counted in. */
export interface Reservation {
  replica: Replica;
  sent: Sent;
}

/** How requests come to a replica: at once, when it is their turn, or not at all. */
export interface AdmissionQueue {
  /** Why no replica takes requests; null while one does. */
  readonly waiting: WaitingCause | null;
  /**
   * A place: at once where there is one, else when it is the call's turn.
   * @throws ApiError why nobody takes it, or that too many wait already
   */
  reserve(call: EngineCall): Reservation | Promise<Reservation>;
  /** A place at a replica that was not tried, when there is room; null where none of them works. */
  reserveElsewhere(call: EngineCall, tried: ReadonlySet<Replica>): Reservation | Promise<Reservation> | null;
  /** There may be room: those who wait are let in. */
  admitWaiting(): void;
  /** Turns away those who wait in vain. */
  rejectWaiting(): void;
  close(reason: ApiError): void;
}

/** Interactive requests that may wait, for each that can be worked on. */
const mostWaiting = { perSlot: 16, least: 64 } as const;

/** @param replicas which may be others later; @param queueMs how long a request that somebody waits for may wait for a place */
export function createAdmissionQueue(
  replicas: readonly Replica[],
  clock: Clock,
  queueMs: number,
): AdmissionQueue {
  const room = new WaitQueue<Reservation>();
  const draining: WaitingCause = {
    scope: 'model',
    code: 'engine_overloaded',
    message: 'Every server of this model is being drained.',
    since: clock.now(),
  };

  function waiting(): WaitingCause | null {
    if (replicas.some((replica) => replica.isUp)) return null;
    return replicas.map(({ health }) => health.breaker.waiting).find((cause) => cause !== null) ?? draining;
  }

  /** Why a request cannot even wait. A suspicion, which the requests of others may have caused, keeps back batches alone. */
  function refusal(priority: EngineCall['priority']): ApiError | null {
    const cause = waiting();
    if (!cause || (priority === 'interactive' && replicas.some((replica) => replica.isSuspected)))
      return null;
    const ms = Math.min(...replicas.map(({ health }) => health.breaker.msLeft));
    // Nothing was sent, so this is no evidence about the request.
    const scope = cause.scope === 'replica' ? 'model' : cause.scope;
    return new ApiError(cause.code, cause.message, {
      blame: { scope, certain: true, retry: true },
      retryAfter: Math.max(1, Math.ceil(ms / 1000)),
      ...(cause.scope === 'account' && { shouldRetry: false }),
    });
  }

  /**
   * A single request is no trial of a replica that it would be sent to anyway, on a suspicion: those of one client, refused
   * one after the other, would keep the lines of batches from showing that it works.
   */
  function placeAt(replica: Replica, { priority }: EngineCall): Reservation {
    const isTrial = priority === 'batch' || !replica.isSuspected || replicas.some((each) => each.isUp);
    return { replica, sent: replica.sent(isTrial && replica.wantsTrial) };
  }

  /** A place at a replica that takes the call now. One whose pause is over is tried first: the others are there if it fails. */
  function place(call: EngineCall): Reservation | undefined {
    // Most models have one server, and nothing to choose.
    const only = replicas.length === 1 ? replicas[0] : undefined;
    if (only) return only.accepts(call.priority) ? placeAt(only, call) : undefined;
    const free = replicas.filter((replica) => replica.accepts(call.priority));
    const up = free.filter((replica) => replica.isUp);
    const replica =
      free.find((each) => each.wantsTrial) ??
      chooseReplica(up.length > 0 ? up : free, replicas, call.prefix ?? '');
    return replica && placeAt(replica, call);
  }

  /** A place at a replica that works, after others failed; null where there is none but those. */
  function placeElsewhere(call: EngineCall, tried: ReadonlySet<Replica>): Reservation | undefined | null {
    const others = replicas.filter((each) => each.isUp && !tried.has(each));
    if (others.length === 0) return null;
    const free = others.filter((each) => each.accepts(call.priority));
    const replica = chooseReplica(free, replicas, call.prefix ?? '');
    return replica && placeAt(replica, call);
  }

  /** A place: at once where there is one, else when it is the call's turn. */
  function enter(call: EngineCall): Reservation | Promise<Reservation> {
    call.signal.throwIfAborted();
    // Nobody overtakes who waits.
    const free = room.count(call.priority) === 0 ? place(call) : undefined;
    if (free) return free;
    const refused = refusal(call.priority);
    if (refused) throw refused;
    const isFull = call.priority === 'interactive' && room.count('interactive') >= mostInteractive();
    if (isFull && !room.makeRoom('interactive', call.org ?? '', overcrowded())) throw overcrowded();
    return turn(call, () => place(call));
  }

  function mostInteractive(): number {
    const slots = replicas.reduce((sum, replica) => sum + replica.slots, 0);
    return Math.max(mostWaiting.least, mostWaiting.perSlot * slots);
  }

  function turn(call: EngineCall, find: () => Reservation | undefined): Promise<Reservation> {
    return room.wait(call, find, (refuse) =>
      call.priority === 'batch' ? null : clock.after(queueMs, () => refuse(overcrowded())),
    );
  }

  return {
    get waiting() {
      return waiting();
    },
    reserve: enter,
    reserveElsewhere(call, tried) {
      const found = placeElsewhere(call, tried);
      return found === undefined ? turn(call, () => placeElsewhere(call, tried) ?? place(call)) : found;
    },
    admitWaiting: () => room.admit(),
    rejectWaiting() {
      for (const priority of ['interactive', 'batch'] as const) {
        const refused = refusal(priority);
        if (refused) room.refuse(priority, refused);
      }
    },
    close(reason) {
      room.refuse('interactive', reason);
      room.refuse('batch', reason);
    },
  };
}

function overcrowded(): ApiError {
  return new ApiError('engine_overloaded', 'Too many requests wait for this model already.', {
    blame: { scope: 'model', certain: true, retry: true },
    retryAfter: 5,
  });
}

import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { ApiError } from '../../core/errors.ts';
import type { ChatUsage } from '../../wire/chat/chat.ts';
import type { Engine, EngineCall, NativeCalls, Pool, Waiting } from '../engines.ts';
import { chooseReplica } from './choose-replica.ts';
import { Replica, type ReplicaOptions } from './replica.ts';
import type { Sent } from './slot-finder.ts';
import { type Waiter, WaitingRoom } from './waiting-room.ts';

export interface PoolOptions {
  /** At least one. */
  replicas: readonly ReplicaOptions[];
  /** How long a request that somebody waits for may wait for a place. */
  queueMs?: number;
  clock: Clock;
  random: Random;
  log: Log;
}

/** A request's place at a replica, counted in. */
interface Place {
  replica: Replica;
  sent: Sent;
}

const defaultQueueMs = 120_000;
/** Interactive requests that may wait, for each that can be worked on. */
const mostWaiting = { perSlot: 16, least: 64 } as const;
/** Other replicas that are asked after a failure: where it is certain that nothing was done, and where it is not. */
const elsewhere = { certain: 3, unclear: 1 } as const;

/** What a token that is read costs against one that is written. */
const tokensRead = 1 / 16;

/** Builds the pool of a model's replicas (engines.ts, `Pool`). It starts and stops their engines. */
export function createPool({ queueMs = defaultQueueMs, clock, random, log, ...options }: PoolOptions): Pool {
  const replicas = options.replicas.map(
    (each) =>
      new Replica(each, { clock, random, log, onChange: () => changed(), onWell: () => void answered++ }),
  );
  const [some] = replicas;
  if (!some) throw new Error('a pool has at least one replica');
  const room = new WaitingRoom<Place>();
  const listeners = new Set<() => void>();
  let answered = 0;
  const draining: Waiting = {
    scope: 'model',
    code: 'engine_overloaded',
    message: 'Every server of this model is being drained.',
    since: clock.now(),
  };

  const sum = (of: (replica: Replica) => number) => replicas.reduce((total, each) => total + of(each), 0);
  const slots = () => sum((replica) => replica.slots);

  function waiting(): Waiting | null {
    if (replicas.some((replica) => replica.isUp)) return null;
    return replicas.map((replica) => replica.waiting).find((cause) => cause !== null) ?? draining;
  }

  /** Why a request cannot even wait. A suspicion, which the requests of others may have caused, keeps back batches alone. */
  function refusal(priority: EngineCall['priority']): ApiError | null {
    const cause = waiting();
    if (!cause || (priority === 'interactive' && replicas.some((replica) => replica.isSuspected)))
      return null;
    const ms = Math.min(...replicas.map(({ msLeft }) => msLeft));
    return new ApiError(cause.code, cause.message, {
      blame: { scope: cause.scope, certain: true, retry: true },
      retryAfter: Math.max(1, Math.ceil(ms / 1000)),
      ...(cause.scope === 'account' && { shouldRetry: false }),
    });
  }

  /** A place at a replica that takes the call now. One whose pause is over is tried first: the others are there if it fails. */
  function place(call: EngineCall): Place | undefined {
    const free = replicas.filter((replica) => replica.takes(call.priority));
    const up = free.filter((replica) => replica.isUp);
    const replica =
      free.find((each) => each.wantsTrial) ??
      chooseReplica(up.length > 0 ? up : free, replicas, call.prefix ?? '');
    return replica && { replica, sent: replica.sent() };
  }

  /** A place at a replica that works, after others failed; null where there is none but those. */
  function placeElsewhere(call: EngineCall, tried: ReadonlySet<Replica>): Place | undefined | null {
    const others = replicas.filter((each) => each.isUp && !tried.has(each));
    if (others.length === 0) return null;
    const free = others.filter((each) => each.takes(call.priority));
    const replica = chooseReplica(free, replicas, call.prefix ?? '');
    return replica && { replica, sent: replica.sent() };
  }

  /** A place: at once where there is one, else when it is the call's turn. */
  function enter(call: EngineCall): Place | Promise<Place> {
    call.signal.throwIfAborted();
    // Nobody overtakes who waits.
    const free = room.count(call.priority) === 0 ? place(call) : undefined;
    if (free) return free;
    const refused = refusal(call.priority);
    if (refused) throw refused;
    if (call.priority === 'interactive' && room.count('interactive') >= mostInteractive())
      throw overcrowded();
    return turn(call, () => place(call));
  }

  const mostInteractive = () => Math.max(mostWaiting.least, mostWaiting.perSlot * slots());

  function turn(call: EngineCall, find: () => Place | undefined): Promise<Place> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer?.cancel();
        call.signal.removeEventListener('abort', onAbort);
        room.remove(waiter);
      };
      const waiter: Waiter<Place> = {
        call,
        find,
        enter: (given) => {
          leave();
          resolve(given);
        },
        refuse: (reason) => {
          leave();
          reject(reason);
        },
      };
      const onAbort = () => waiter.refuse(call.signal.reason);
      call.signal.addEventListener('abort', onAbort, { once: true });
      const isPatient = call.priority === 'batch';
      const timer = isPatient ? null : clock.after(queueMs, () => waiter.refuse(overcrowded()));
      room.add(waiter);
    });
  }

  /** There may be room, or none any more: those who wait are let in, or told. */
  function changed(): void {
    admit();
    for (const priority of ['interactive', 'batch'] as const) {
      const refused = refusal(priority);
      if (refused) room.refuse(priority, refused);
    }
    for (const listener of listeners) listener();
  }

  function admit(): void {
    for (let first = room.first(); first; first = room.first()) {
      const given = first.find();
      if (!given) return;
      room.shift();
      first.enter(given);
    }
  }

  /** Where a call goes after a failure, if it should be asked again by itself. */
  async function next(call: EngineCall, error: unknown, tried: ReadonlySet<Replica>): Promise<Place | null> {
    if (!(error instanceof ApiError) || call.signal.aborted) return null;
    const { scope, certain } = error.blame;
    if (scope === 'request' || error.code === 'upstream_timeout') return null;
    if (tried.size > (certain ? elsewhere.certain : elsewhere.unclear)) return null;
    const found = placeElsewhere(call, tried);
    return found === undefined ? turn(call, () => placeElsewhere(call, tried) ?? place(call)) : found;
  }

  function failed({ replica, sent }: Place, call: EngineCall, error: unknown): void {
    if (call.signal.aborted || !(error instanceof ApiError)) return replica.dropped(sent);
    replica.failed(sent, error);
    if (error.blame.scope !== 'account') return;
    for (const other of replicas)
      if (other !== replica && other.account === replica.account) other.fail(error);
  }

  function succeeded({ replica, sent }: Place, work: number): void {
    answered++;
    replica.answered(sent, Math.max(1, work));
    compare();
  }

  /** How slow each is against the others. */
  function compare(): void {
    if (replicas.length < 2 || answered % 64 !== 0) return;
    const paces = replicas
      .map(({ pace }) => pace)
      .filter((pace) => pace > 0)
      .toSorted((a, b) => a - b);
    const middle = paces[Math.floor(paces.length / 2)];
    if (middle !== undefined) for (const replica of replicas) replica.slowness = replica.pace / middle;
  }

  async function ask<T>(call: EngineCall, run: (engine: Engine) => Promise<T>, weigh: (answer: T) => number) {
    const tried = new Set<Replica>();
    for (let at = await enter(call); ;) {
      tried.add(at.replica);
      try {
        const answer = await run(at.replica.engine);
        succeeded(at, weigh(answer));
        return answer;
      } catch (error) {
        failed(at, call, error);
        admit();
        const other = await next(call, error, tried);
        if (!other) throw error;
        at = other;
      } finally {
        admit();
      }
    }
  }

  async function* stream<T extends Piece>(
    call: EngineCall,
    run: (engine: Engine) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<readonly T[]> {
    const tried = new Set<Replica>();
    for (let at = await enter(call); ;) {
      tried.add(at.replica);
      let begun = false;
      let isOpen = true;
      try {
        for await (const chunks of run(at.replica.engine)) {
          if (!begun) at.replica.answers();
          begun = true;
          // The usage comes last: the server is done, however long the client reads.
          const usage = chunks.at(-1)?.usage;
          if (usage && isOpen) {
            isOpen = false;
            succeeded(at, workOf(usage));
            admit();
          }
          yield chunks;
        }
        if (isOpen) succeeded(at, 1);
        isOpen = false;
        return;
      } catch (error) {
        if (isOpen) failed(at, call, error);
        isOpen = false;
        admit();
        const other = begun ? null : await next(call, error, tried);
        if (!other) throw error;
        at = other;
      } finally {
        if (isOpen) at.replica.dropped(at.sent);
        admit();
      }
    }
  }

  const probe = async () => {
    await Promise.all(replicas.map((replica) => replica.look()));
    return { slots: slots(), queued: null };
  };

  return {
    get capabilities() {
      return some.engine.capabilities;
    },
    get slots() {
      return Math.max(1, slots());
    },
    get most() {
      return sum((replica) => replica.most);
    },
    get answered() {
      return answered;
    },
    get waiting() {
      return waiting();
    },
    get replicas() {
      return replicas.map(({ state }) => state);
    },
    onRoom: (listener) => void listeners.add(listener),

    async start() {
      await Promise.all(replicas.map(({ engine }) => engine.start()));
      // Nobody waits for servers that may be away.
      void probe();
    },

    async stop() {
      for (const replica of replicas) replica.stop();
      const stopped = new ApiError('shutting_down', 'The engine is being stopped.');
      room.refuse('interactive', stopped);
      room.refuse('batch', stopped);
      await Promise.all(replicas.map(({ engine }) => engine.stop()));
    },

    generate: (request, call) =>
      ask(
        call,
        (engine) => engine.generate(request, call),
        ({ body }) => workOf(body.usage),
      ),
    stream: (request, call) => stream(call, (engine) => engine.stream(request, call)),
    embed: (request, call) =>
      ask(
        call,
        (engine) => engine.embed(request, call),
        ({ promptTokens }) => promptTokens * tokensRead,
      ),
    native: {
      ask: (op, request, call) =>
        ask(
          call,
          (engine) => nativeOf(engine).ask(op, request, call),
          ({ usage }) => workOf(usage),
        ),
      stream: (op, request, call) => stream(call, (engine) => nativeOf(engine).stream(op, request, call)),
    },
    countTokens: (request) => {
      const up = replicas.find((replica) => replica.isUp) ?? some;
      return up.engine.countTokens(request);
    },
    probe,
  };
}

/** A piece of a streamed answer; the last one tells the usage. */
interface Piece {
  usage?: ChatUsage | null;
}

/** Nobody asks for it where `capabilities.native` names nothing. */
function nativeOf({ native }: Engine): NativeCalls {
  if (!native) throw new Error('this engine is asked for chat completions only');
  return native;
}

function workOf(usage: ChatUsage): number {
  const read = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
  return usage.completion_tokens + read * tokensRead;
}

function overcrowded(): ApiError {
  return new ApiError('engine_overloaded', 'Too many requests wait for this model already.', {
    blame: { scope: 'model', certain: true, retry: true },
    retryAfter: 5,
  });
}

import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { ApiError, isWorthAskingElsewhere } from '../../core/errors.ts';
import type { ChatUsage } from '../../wire/chat/chat.ts';
import type { Engine, EngineCall, NativeCalls, Pool } from '../engines.ts';
import { notesOf } from './call-notes.ts';
import { commonCapabilities } from './common-capabilities.ts';
import { createEntrance, type Place } from './entrance.ts';
import { Replica, type ReplicaOptions } from './replica.ts';

export interface PoolOptions {
  /** At least one. */
  replicas: readonly ReplicaOptions[];
  /** Whether other processes ask the same servers. */
  isShared?: boolean;
  /** How long a request that somebody waits for may wait for a place. */
  queueMs?: number;
  clock: Clock;
  random: Random;
  log: Log;
}

/** A pool whose servers may be others while it runs. */
export interface ServerPool extends Pool {
  /**
   * Asks these from now on, at least one. Those of an engine that was among them before go on as they are; what others
   * have in flight ends there.
   */
  replaceReplicas(next: readonly ReplicaOptions[]): Promise<void>;
}

const defaultQueueMs = 120_000;
/** Other replicas that are asked after a failure: where it is certain that nothing was done, and where it is not. */
const elsewhere = { certain: 3, unclear: 1 } as const;

/** What a token that is read costs against one that is written. */
const tokensRead = 1 / 16;

/** Builds the pool of a model's replicas (engines.ts, `Pool`). It starts and stops their engines. */
export function createPool({
  queueMs = defaultQueueMs,
  isShared = false,
  clock,
  random,
  log,
  ...options
}: PoolOptions): ServerPool {
  const replicas = options.replicas.map(replicaOf);
  if (replicas.length === 0) throw new Error('a pool has at least one replica');
  /** Servers that are asked no more, and end what they have. */
  const ending = new Set<Replica>();
  const listeners = new Set<() => void>();
  let answered = 0;
  let isStopped = false;
  let workedAt = Number.NEGATIVE_INFINITY;
  const capabilities = commonCapabilities(replicas);
  const entrance = createEntrance(replicas, clock, queueMs);

  function replicaOf(one: ReplicaOptions): Replica {
    const onWell = () => works(clock.monotonic());
    return new Replica(one, { clock, random, log, onChange: () => changed(), onWell });
  }

  /** Asked for several times a line: it allocates nothing. */
  function sum(of: 'slots' | 'most'): number {
    let total = 0;
    for (const replica of replicas) total += replica[of];
    return total;
  }
  const slots = () => sum('slots');

  /** There may be room, or none any more: those who wait are let in, or told. */
  function changed(): void {
    entrance.admit();
    entrance.dismiss();
    for (const listener of listeners) listener();
  }

  /** Where a call goes after a failure, if it should be asked again by itself. */
  async function next(call: EngineCall, error: unknown, tried: ReadonlySet<Replica>): Promise<Place | null> {
    if (!isWorthAskingElsewhere(error) || call.signal.aborted) return null;
    if (tried.size > (error.blame.certain ? elsewhere.certain : elsewhere.unclear)) return null;
    return entrance.elsewhere(call, tried);
  }

  function failed({ replica, sent }: Place, call: EngineCall, error: unknown): void {
    if (call.signal.aborted || !(error instanceof ApiError)) return replica.dropped(sent);
    replica.failed(sent, error, call.deadline && call.deadline - clock.now());
    if (error.blame.scope !== 'account') return;
    for (const other of replicas)
      if (other !== replica && other.account === replica.account) other.fail(error);
  }

  function succeeded({ replica, sent }: Place, work: number): void {
    answered++;
    works(sent.at);
    replica.answered(sent, Math.max(1, work));
    compare();
  }

  function works(at: number): void {
    workedAt = Math.max(workedAt, at);
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
    let tried: Set<Replica> | undefined;
    const { known } = call;
    const notes = known && notesOf(known, clock);
    const entered = entrance.enter(call);
    for (let at = entered instanceof Promise ? await entered : entered; ;) {
      const { replica } = at;
      notes?.sent(replica.name);
      try {
        const answer = await run(replica.engine);
        notes?.answers();
        succeeded(at, weigh(answer));
        return answer;
      } catch (error) {
        failed(at, call, error);
        entrance.admit();
        tried = (tried ?? new Set<Replica>()).add(replica);
        const other = await next(call, error, tried);
        if (!other) throw error;
        at = other;
      } finally {
        replica.left();
        entrance.admit();
      }
    }
  }

  async function* stream<T extends Piece>(
    call: EngineCall,
    run: (engine: Engine) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<readonly T[]> {
    const tried = new Set<Replica>();
    const notes = call.known && notesOf(call.known, clock);
    for (let at = await entrance.enter(call); ;) {
      const { replica } = at;
      notes?.sent(replica.name);
      tried.add(replica);
      let begun = false;
      let isOpen = true;
      try {
        for await (const chunks of run(replica.engine)) {
          if (!begun) {
            replica.answers();
            notes?.answers(chunks[0]?.id);
          }
          begun = true;
          // The usage comes last: the server is done, however long the client reads.
          const usage = chunks.at(-1)?.usage;
          if (usage && isOpen) {
            isOpen = false;
            succeeded(at, workOf(usage));
            entrance.admit();
          }
          yield chunks;
        }
        if (isOpen) succeeded(at, 1);
        isOpen = false;
        return;
      } catch (error) {
        if (isOpen) failed(at, call, error);
        isOpen = false;
        entrance.admit();
        const other = begun ? null : await next(call, error, tried);
        if (!other) throw error;
        at = other;
      } finally {
        if (isOpen) replica.dropped(at.sent);
        replica.left();
        entrance.admit();
      }
    }
  }

  async function end(replica: Replica): Promise<void> {
    ending.add(replica);
    await replica.end();
    await replica.engine.stop();
    ending.delete(replica);
  }

  const probe = async () => {
    await Promise.all(replicas.map((replica) => replica.look()));
    return { slots: slots(), queued: null };
  };

  return {
    get capabilities() {
      return capabilities();
    },
    get slots() {
      return Math.max(1, slots());
    },
    get most() {
      return sum('most');
    },
    isShared,
    get workedAt() {
      return workedAt;
    },
    get waiting() {
      return entrance.waiting;
    },
    get replicas() {
      return replicas.map(({ state }) => state);
    },
    get found() {
      // Asked for with every line; most servers were told their slots.
      if (replicas.every(({ found: most }) => most === null)) return undefined;
      return Object.fromEntries(
        replicas.flatMap(({ name, found: most }) => (most === null ? [] : [[name, most] as const])),
      );
    },
    get closed() {
      const closed = replicas.flatMap((each) => (each.closed ? [[each.name, each.closed] as const] : []));
      return closed.length > 0 ? Object.fromEntries(closed) : undefined;
    },
    share(share) {
      const all = Math.max(1, slots());
      for (const replica of replicas) {
        const { name } = replica;
        const others = ((share?.others ?? 0) * replica.slots) / all;
        replica.share(others, share?.found?.[name] ?? null, share?.before?.[name]);
      }
      for (const replica of replicas) replica.heard(share?.closed?.[replica.name]);
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
      for (const replica of kept) if (!known.has(replica.engine)) void replica.look();
      for (const replica of gone) void end(replica);
      changed();
    },

    generate: (request, call) =>
      ask(
        call,
        (engine) => engine.generate(request, call),
        ({ body }) => {
          if (call.known) call.known.answerId = body.id;
          return workOf(body.usage);
        },
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
          ({ usage, fields }) => {
            if (call.known && typeof fields['id'] === 'string') call.known.answerId = fields['id'];
            return workOf(usage);
          },
        ),
      stream: (op, request, call) => stream(call, (engine) => nativeOf(engine).stream(op, request, call)),
    },
    countTokens: (request) => {
      const up = replicas.find((replica) => replica.isUp) ?? replicas[0]!;
      return up.engine.countTokens(request);
    },
    probe,
  };
}

/** A piece of a streamed answer; the last one tells the usage. */
interface Piece {
  id?: string;
  usage?: ChatUsage | null;
}

/** Nobody asks for it where `capabilities.speaks` names no format. */
function nativeOf({ native }: Engine): NativeCalls {
  if (!native) throw new Error('this engine is asked for chat completions only');
  return native;
}

function workOf(usage: ChatUsage): number {
  const read = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
  return usage.completion_tokens + read * tokensRead;
}

import { backoffMs } from '../base/backoff.ts';
import { type Clock, createTimeBounds, sleep } from '../base/clock.ts';
import { createFairGate } from '../base/fair-gate.ts';
import type { Log } from '../base/log.ts';
import type { ConversationAppend } from '../core/conversation.ts';
import { ApiError } from '../core/errors.ts';
import type { ResponseWithoutInput, ResponseStore } from '../store/contract/responses.ts';
import { responseError } from '../wire/responses/answer/response-body.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import { toBody, toTexts } from './stored-body.ts';

/** A process that has not said for so long that it lives is dead, and what it made has failed. */
export const leaseMs = 60_000;
const renewMs = 20_000;
/** Between tries to keep what was made: a minute in all. */
const pauses = { initialMs: 100, maxMs: 10_000 };
const mostTries = 13;
/** How often the events of what another process makes are asked for. */
const lookMs = 1_000;
const sweepMs = 3_600_000;
const atOnce = 100;
/** Each may have some MB. */
const endedAtOnce = 10;
const mostRuns = 1_000;

export interface BackgroundDeps {
  store: ResponseStore;
  /** What else expires. */
  otherStores: readonly Pick<ResponseStore, 'removeExpired'>[];
  clock: Clock;
  log: Log;
  /** No other process uses this database: whatever is unfinished at the start is nobody's. */
  exclusive: boolean;
  /** Bytes of the requests that this process holds without anybody waiting for them. */
  roomBytes: number;
}

interface BackgroundRun {
  controller: AbortController;
  done: Promise<void>;
}

export type Background = ReturnType<typeof createBackground>;

/** Responses that are made without anybody waiting, and the upkeep of all that are stored. */
export function createBackground(deps: BackgroundDeps) {
  const { store, otherStores, clock, log, exclusive, roomBytes } = deps;
  const time = createTimeBounds(clock);
  const aliveUntil = () => time.latest() + leaseMs;
  const runs = new Map<string, BackgroundRun>();
  const full = () =>
    new ApiError('rate_limit_exceeded', 'Too many responses are being made in the background.', {
      retryAfter: 5,
    });
  const room = createFairGate({
    capacity: roomBytes,
    maxPerOwner: roomBytes / 2,
    maxWaiting: 0,
    fullError: full,
  });
  const stopping = new AbortController();
  let upkeep: Promise<void> | undefined;

  async function make(
    begun: ResponseBody,
    work: (signal: AbortSignal) => Promise<ResponseBody>,
    said: ((body: ResponseBody) => ConversationAppend | undefined) | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const body = await work(signal).catch((error: unknown) => failed(begun, error));
    await finish(begun.id, toTexts(body), said?.(body));
  }

  /** Tries as long as a process counts as alive that says nothing: what was made is not lost by a database that restarts. */
  async function finish(...asked: Parameters<ResponseStore['finish']>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await store.finish(...asked);
        return;
      } catch (error) {
        if (tries === mostTries || stopping.signal.aborted) throw error;
        log.warn({ err: error, id: asked[0] }, 'a response could not be kept; trying again');
        await sleep(clock, backoffMs(tries, pauses), stopping.signal);
      }
    }
  }

  async function failAbandoned(now: number): Promise<void> {
    for (;;) {
      const left = await store.abandoned(now, endedAtOnce);
      for (const response of left) await end(response);
      if (left.length < endedAtOnce) return;
    }
  }

  async function end(response: ResponseWithoutInput): Promise<ResponseWithoutInput> {
    const reason = new ApiError('shutting_down', 'The server was stopped before this response was finished.');
    const change = toTexts(failed(toBody(response), reason));
    await store.finish(response.id, change);
    return { ...response, ...change, aliveUntil: null };
  }

  async function renew(): Promise<void> {
    if (runs.size === 0) return;
    const alive = new Set(await store.renew([...runs.keys()], aliveUntil()));
    for (const [id, { controller }] of runs) if (!alive.has(id)) controller.abort();
  }

  async function sweep(): Promise<void> {
    await failAbandoned(time.earliest());
    for (const each of [store, ...otherStores])
      while ((await each.removeExpired(time.earliest(), atOnce)) === atOnce);
  }

  async function keepUp(): Promise<void> {
    let swept = clock.monotonic();
    for (;;) {
      await sleep(clock, renewMs, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        await renew();
        if (clock.monotonic() - swept < sweepMs) continue;
        swept = clock.monotonic();
        await sweep();
      } catch (error) {
        log.error({ err: error }, 'the upkeep of stored responses failed; the next round tries again');
      }
    }
  }

  return {
    /**
     * Makes room for a request of so many bytes; what it returns gives the room back.
     * @throws ApiError `rate_limit_exceeded` (429) when this process, or half of it the org, holds enough
     */
    reserve(orgId: string, bytes: number) {
      const leave = room.tryEnter(orgId, Math.max(bytes, roomBytes / mostRuns));
      if (!leave) throw full();
      return leave;
    },

    /** Until when a response that is begun now counts as made by a living process, unless `run` renews that. */
    aliveUntil,

    /** Makes a stored, unfinished response; `work` resolves with the finished body, `said` is what that adds to a conversation. */
    run(
      begun: ResponseBody,
      work: (signal: AbortSignal) => Promise<ResponseBody>,
      said?: (body: ResponseBody) => ConversationAppend | undefined,
    ) {
      const controller = new AbortController();
      const done = make(begun, work, said, controller.signal)
        .catch((error: unknown) => log.error({ err: error, id: begun.id }, 'a response could not be kept'))
        .finally(() => runs.delete(begun.id));
      runs.set(begun.id, { controller, done });
    },

    /** Resolves when it is worth looking at the row again, or the signal aborts. */
    async changed(id: string, signal: AbortSignal) {
      const run = runs.get(id);
      if (!run) return sleep(clock, lookMs, signal);
      const gone = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.race([run.done, gone]);
    },

    /** Stops making it, if it is made here. Its row is the caller's business. */
    drop: (id: string) => runs.get(id)?.controller.abort(),

    /** The row, ended as failed if nobody makes it any more. */
    async checked(response: ResponseWithoutInput) {
      const { id, aliveUntil: until } = response;
      // What is made here is not dead when the database, while it was away, was not told that it lives.
      const isDead = until !== null && until <= time.earliest() && !runs.has(id);
      return isDead ? end(response) : response;
    },

    async start() {
      await failAbandoned(exclusive ? Number.MAX_SAFE_INTEGER : time.earliest());
      upkeep ??= keepUp();
    },

    async stop() {
      stopping.abort();
      const reason = new ApiError(
        'shutting_down',
        'The server was stopped before this response was finished.',
      );
      for (const { controller } of runs.values()) controller.abort(reason);
      await Promise.all([...runs.values()].map(({ done }) => done));
      await upkeep;
    },
  };
}

function failed(begun: ResponseBody, error: unknown): ResponseBody {
  return { ...begun, status: 'failed', error: responseError(error) };
}

import { backoffMs } from '../base/backoff.ts';
import { type Clock, createTimeBounds, sleep } from '../base/clock.ts';
import { createFairGate } from '../base/fair-gate.ts';
import type { Log } from '../base/log.ts';
import { unlessAborted } from '../base/on-abort.ts';
import type { ConversationAppend } from '../core/conversation.ts';
import { ApiError } from '../core/errors.ts';
import type { ResponseWithoutInput, ResponseStore } from '../store/contract/responses.ts';
import { responseError } from '../wire/responses/answer/response-body.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import { toBody, toTexts } from './stored-body.ts';

/** Lease of a background response, after which its process counts as dead and the response has failed. */
export const leaseMs = 60_000;
const renewMs = 20_000;
/** Back-off between attempts to store a finished response: a minute in total. */
const backoff = { initialMs: 100, maxMs: 10_000 };
const maxAttempts = 13;
/** Poll interval for a response of another process. */
const pollMs = 1_000;
const sweepMs = 3_600_000;
const sweepRows = 100;
/** Abandoned responses per read; each may have some MB. */
const abandonedRows = 10;
const maxRuns = 1_000;

export interface BackgroundDeps {
  store: ResponseStore;
  /** Other stores whose rows expire. */
  otherStores: readonly Pick<ResponseStore, 'removeExpired'>[];
  clock: Clock;
  log: Log;
  /** True if no other process uses the database, so that all unfinished responses at start-up are abandoned. */
  exclusive: boolean;
  /** Maximum bytes of background requests in memory. */
  roomBytes: number;
}

export type Background = ReturnType<typeof createBackground>;

/** Runs background responses, and maintains all stored ones. */
export function createBackground(deps: BackgroundDeps) {
  const { store, otherStores, clock, log, exclusive, roomBytes } = deps;
  const time = createTimeBounds(clock);
  const aliveUntil = () => time.latest() + leaseMs;
  const runs = new Map<string, { controller: AbortController; done: Promise<void> }>();
  const full = () =>
    new ApiError('rate_limit_exceeded', 'Too many background responses are in progress.', { retryAfter: 5 });
  const limits = { capacity: roomBytes, maxPerOwner: roomBytes / 2, maxWaiting: 0 };
  const room = createFairGate({ ...limits, fullError: full });
  const stopping = new AbortController();
  let maintenance: Promise<void> | undefined;

  async function run(
    begun: ResponseBody,
    work: (signal: AbortSignal) => Promise<ResponseBody>,
    turnOf: ((body: ResponseBody) => ConversationAppend | undefined) | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const body = await work(signal).catch((error: unknown) => failed(begun, error));
    await finish(begun.id, toTexts(body), turnOf?.(body));
  }

  /** Retries for the length of a lease, so that a restart of the database loses no response. */
  async function finish(...args: Parameters<ResponseStore['finish']>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return void (await store.finish(...args));
      } catch (error) {
        if (attempt === maxAttempts || stopping.signal.aborted) throw error;
        log.warn({ err: error, id: args[0] }, 'could not store a response; retrying');
        await sleep(clock, backoffMs(attempt, backoff), stopping.signal);
      }
    }
  }

  async function failAbandoned(now: number): Promise<void> {
    for (;;) {
      const left = await store.abandoned(now, abandonedRows);
      for (const response of left) await end(response);
      if (left.length < abandonedRows) return;
    }
  }

  async function end(response: ResponseWithoutInput): Promise<ResponseWithoutInput> {
    const change = toTexts(failed(toBody(response), stopped()));
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
      while ((await each.removeExpired(time.earliest(), sweepRows)) === sweepRows);
  }

  async function maintain(): Promise<void> {
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
        log.error({ err: error }, 'maintenance of stored responses failed; will retry');
      }
    }
  }

  return {
    /**
     * Reserves memory for a request; the returned function frees it. An org may use half of the memory.
     * @throws ApiError `rate_limit_exceeded` (429)
     */
    reserve(orgId: string, bytes: number) {
      const leave = room.tryEnter(orgId, Math.max(bytes, roomBytes / maxRuns));
      if (!leave) throw full();
      return leave;
    },

    /** End of the lease of a response that begins now; `run` renews it. */
    aliveUntil,

    /** Runs a stored response. `work` resolves with the finished body, and `turnOf` returns what that adds to a conversation. */
    run(
      begun: ResponseBody,
      work: (signal: AbortSignal) => Promise<ResponseBody>,
      turnOf?: (body: ResponseBody) => ConversationAppend | undefined,
    ) {
      const controller = new AbortController();
      const done = run(begun, work, turnOf, controller.signal)
        .catch((error: unknown) => log.error({ err: error, id: begun.id }, 'could not store a response'))
        .finally(() => runs.delete(begun.id));
      runs.set(begun.id, { controller, done });
    },

    /** Resolves when the row should be read again, or the signal aborts. */
    async changed(id: string, signal: AbortSignal) {
      const local = runs.get(id);
      if (!local) return sleep(clock, pollMs, signal);
      await unlessAborted(local.done, signal).catch(() => {});
    },

    /** Aborts a response that this process runs. The caller updates its row. */
    drop: (id: string) => runs.get(id)?.controller.abort(),

    /** Returns the row, marked as failed if its lease has expired. */
    async failIfAbandoned(response: ResponseWithoutInput) {
      const { id, aliveUntil: until } = response;
      // A local run is alive even if an unavailable database has not received its heartbeat.
      const isAbandoned = until !== null && until <= time.earliest() && !runs.has(id);
      return isAbandoned ? end(response) : response;
    },

    async start() {
      await failAbandoned(exclusive ? Number.MAX_SAFE_INTEGER : time.earliest());
      maintenance ??= maintain();
    },

    async stop() {
      stopping.abort();
      const reason = stopped();
      for (const { controller } of runs.values()) controller.abort(reason);
      await Promise.all([...runs.values()].map(({ done }) => done));
      await maintenance;
    },
  };
}

const stopped = () =>
  new ApiError('shutting_down', 'The server was stopped before this response was finished.');

function failed(begun: ResponseBody, error: unknown): ResponseBody {
  return { ...begun, status: 'failed', error: responseError(error) };
}

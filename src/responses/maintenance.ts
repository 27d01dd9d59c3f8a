import { type Clock, createTimeBounds, sleep } from '../base/clock.ts';
import { createFairGate } from '../base/fair-gate.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../core/errors.ts';
import type { ResponseWithoutInput, ResponseStore } from '../store/contract/responses.ts';
import { responseError } from '../wire/responses/answer/response-body.ts';
import { toBody, toTexts } from './stored-body.ts';

/** Poll interval for a response that a process of an earlier version makes. */
const pollMs = 1_000;
const sweepMs = 3_600_000;
const sweepRows = 100;
/** Abandoned responses per read; each may have some MB. */
const abandonedRows = 10;
const maxRuns = 1_000;

export interface ResponseMaintenanceDeps {
  store: ResponseStore;
  /** Other stores whose rows expire. */
  otherStores: readonly Pick<ResponseStore, 'removeExpired'>[];
  clock: Clock;
  log: Log;
  /** True if no other process uses the database, so that all responses with a lease are abandoned at start-up. */
  exclusive: boolean;
  /** Maximum bytes of background requests in memory. */
  roomBytes: number;
}

export type ResponseMaintenance = ReturnType<typeof createResponseMaintenance>;

/**
 * Maintains stored responses, and limits the memory of those that run in the background. Processes of earlier versions made these
 * themselves, under a lease; a response whose lease has lapsed has failed.
 */
export function createResponseMaintenance(deps: ResponseMaintenanceDeps) {
  const { store, otherStores, clock, log, exclusive, roomBytes } = deps;
  const time = createTimeBounds(clock);
  const full = () =>
    new ApiError('rate_limit_exceeded', 'Too many background responses are in progress.', { retryAfter: 5 });
  const limits = { capacity: roomBytes, maxPerOwner: roomBytes / 2, maxWaiting: 0 };
  const room = createFairGate({ ...limits, fullError: full });
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function failAbandoned(now: number): Promise<void> {
    for (;;) {
      const left = await store.abandoned(now, abandonedRows);
      for (const response of left) await fail(response);
      if (left.length < abandonedRows) return;
    }
  }

  async function fail(response: ResponseWithoutInput): Promise<ResponseWithoutInput> {
    const error = new ApiError('shutting_down', 'The server was stopped before this response was finished.');
    const change = toTexts({ ...toBody(response), status: 'failed', error: responseError(error) });
    await store.finish(response.id, change);
    return { ...response, ...change, aliveUntil: null };
  }

  async function sweep(): Promise<void> {
    await failAbandoned(time.earliest());
    for (const each of [store, ...otherStores])
      while ((await each.removeExpired(time.earliest(), sweepRows)) === sweepRows);
  }

  async function maintain(): Promise<void> {
    for (;;) {
      await sleep(clock, sweepMs, stopping.signal);
      if (stopping.signal.aborted) return;
      await sweep().catch((error: unknown) =>
        log.error({ err: error }, 'maintenance of stored responses failed; will retry'),
      );
    }
  }

  return {
    /** Aborts when the service stops. */
    stopping: stopping.signal,

    /**
     * Reserves memory for a request; the returned function frees it. An org may use half of the memory.
     * @throws ApiError `rate_limit_exceeded` (429)
     */
    reserve(orgId: string, bytes: number) {
      const leave = room.tryEnter(orgId, Math.max(bytes, roomBytes / maxRuns));
      if (!leave) throw full();
      return leave;
    },

    /** Resolves when a response that another version makes should be read again, or the signal aborts. */
    pause: (signal: AbortSignal) => sleep(clock, pollMs, signal),

    /** Returns the row, marked as failed if its lease has lapsed. */
    async failIfAbandoned(response: ResponseWithoutInput) {
      const { aliveUntil } = response;
      return aliveUntil !== null && aliveUntil <= time.earliest() ? fail(response) : response;
    },

    async start() {
      await failAbandoned(exclusive ? Number.MAX_SAFE_INTEGER : time.earliest());
      running ??= maintain();
    },

    async stop() {
      stopping.abort(new ApiError('shutting_down', 'The server is shutting down.'));
      await running;
    },
  };
}

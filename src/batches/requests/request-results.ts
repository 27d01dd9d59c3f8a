import { createPoll, type Poll } from '../../base/poll.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { unlessAborted } from '../../base/on-abort.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { ApiError, type ErrorCode, errorCatalog } from '../../core/errors.ts';
import { isGroup, lineKey, type LinePlace } from '../../core/request-group.ts';
import { noUsage } from '../../core/usage.ts';
import { failureFields } from '../../core/retry-log.ts';
import type { RequestResult, RequestStore } from '../../store/contract/requests.ts';
import type { ResultStore } from '../../store/contract/results.ts';
import { bodyOfOutput } from '../../wire/batch/result-line.ts';

/** Interval in which results of other processes are looked for. */
const pollMs = 1_000;

/** Seconds after which a request that found no room may be repeated. */
const retryAfter = 60;

const decoder = new TextDecoder();

interface Wait {
  place: LinePlace;
  promise: Promise<RequestResult>;
  resolve: (result: RequestResult) => void;
  /** Number of callers that wait. */
  callers: number;
}

export interface RequestResultsDeps {
  store: Pick<RequestStore, 'results'>;
  clock: Pick<Clock, 'after'>;
  log: Log;
}

/** Results of single requests, for the callers that wait for them. */
export class RequestResults {
  #deps: RequestResultsDeps;
  #waits = new Map<string, Wait>();
  #poll: Poll;

  constructor(deps: RequestResultsDeps) {
    this.#deps = deps;
    this.#poll = createPoll(
      deps.clock,
      pollMs,
      () => this.#look([...this.#waits.values()].map(({ place }) => place)),
      (error) => deps.log.warn(failureFields(error), 'results of requests could not be read; trying again'),
    );
  }

  start(): Promise<void> {
    return this.#poll.start();
  }

  stop(): Promise<void> {
    return this.#poll.stop();
  }

  /** Passes the results that this process records to the callers that wait for them. */
  watching(results: ResultStore): ResultStore {
    return {
      ...results,
      record: async (worker, rows, ...more) => {
        const outcomes = await results.record(worker, rows, ...more);
        const ours = Map.groupBy(
          rows.filter(({ batchId }) => isGroup(batchId)),
          ({ batchId }) => batchId,
        );
        for (const { batchId, kept } of outcomes) {
          const recorded = ours.get(batchId) ?? [];
          // Another process may have recorded a line first.
          if (kept === recorded.length)
            for (const row of recorded) this.#settle({ ...row, ...row.usage, run: row.run ?? null });
        }
        return outcomes;
      },
    };
  }

  /** @param isOld true if the result may be recorded already */
  async wait(place: LinePlace, isOld: boolean, signal: AbortSignal): Promise<RequestResult> {
    const key = lineKey(place);
    const known = this.#waits.get(key);
    const wait = known ?? { place, ...Promise.withResolvers<RequestResult>(), callers: 0 };
    if (!known) this.#waits.set(key, wait);
    wait.callers++;
    try {
      if (isOld) await this.#look([place]);
      return await unlessAborted(wait.promise, signal);
    } finally {
      if (--wait.callers === 0) this.#waits.delete(key);
    }
  }

  async #look(places: readonly LinePlace[]): Promise<void> {
    if (places.length === 0) return;
    for (const result of await this.#deps.store.results(places)) this.#settle(result);
  }

  #settle(result: RequestResult): void {
    this.#waits.get(lineKey(result))?.resolve(result);
  }
}

/**
 * Notes how a request got its result.
 * @param isRepeat true for a repeat of the request, which neither waited for a slot nor is charged
 */
export function noteResult(
  trace: CallTrace,
  { stream, model, run, ...result }: RequestResult,
  isRepeat: boolean,
): void {
  trace.model = model;
  trace.server = run?.server ?? undefined;
  if (isRepeat) return;
  trace.firstOutputMs = run?.ms;
  const { inputTokens, cachedTokens, outputTokens } = result;
  if (stream === 'output') trace.billed = { ...noUsage, inputTokens, cachedTokens, outputTokens };
}

/** JSON text of the answer that a result has. @throws ApiError that a failed result has */
export function answerOf({ stream, body }: Pick<RequestResult, 'stream' | 'body'>): string {
  const line = decoder.decode(body);
  if (stream === 'output') return bodyOfOutput(line);
  const { error } = JSON.parse(line) as { error: { code: string; message: string; param: string | null } };
  const code = Object.hasOwn(errorCatalog, error.code) ? (error.code as ErrorCode) : 'upstream_error';
  throw new ApiError(code, error.message, {
    param: error.param,
    ...(code === 'resource_unavailable' && { retryAfter }),
  });
}

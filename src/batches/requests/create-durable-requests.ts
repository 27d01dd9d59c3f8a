import { type Clock, sleep } from '../../base/clock.ts';
import { coalesceWrites } from '../../base/coalesce-writes.ts';
import { type Chunk, closeModel } from '../../core/batch.ts';
import { budgetExceeded } from '../../core/budget.ts';
import { ApiError, idempotencyMismatch } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import { defaultTagName } from '../../core/usage-tag.ts';
import { type LinePlace, lineRequestId, placeInGroup } from '../../core/request-group.ts';
import type { ClaimedBatch } from '../../store/contract/claim.ts';
import type { CreateDeps } from '../batch-context.ts';
import { limitExceeded, limitsFor } from '../create/quota.ts';
import { failedResult } from '../lines/line-result.ts';
import type { DurableRequest, DurableRequests, SubmittedRequest } from './durable-requests.ts';
import { planGroup, type PreparedRequest, prepareRequest } from './plan-group.ts';
import { answerOf, noteResult, type RequestResults } from './request-results.ts';

/** Requests of one group; each may have some MB. */
const maxGroup = 64;
/** Pause between two groups of a key, in which requests gather: a group costs as much as several requests. */
const restMs = 25;

export interface DurableRequestsDeps extends CreateDeps {
  results: Pick<RequestResults, 'wait'>;
  timer: Clock;
  /** Id of this process in the store. */
  worker: string;
  /** Ends the call of a request whose end is recorded. */
  drop: (place: LinePlace) => void;
  /** Called when there are new requests to run. */
  wake: () => void;
  /** Runs chunks that this process has leased. */
  runNow: (group: ClaimedBatch, chunks: readonly Chunk[]) => void;
}

/** Request on its way into a group. */
interface Entry {
  caller: Caller;
  request: PreparedRequest;
  submitted?: SubmittedRequest;
  mismatch?: true;
}

/** Stores the requests that arrive during a write together. */
export function createDurableRequests(deps: DurableRequestsDeps): DurableRequests {
  const { store, catalog, requireDisk, results, wake, usageTag = defaultTagName } = deps;
  const writers = new Map<string, { write: (entry: Entry) => Promise<void>; pending: number }>();

  async function writeGroup(entries: readonly Entry[]): Promise<void> {
    for (;;) {
      const left = entries.filter(({ submitted, mismatch }) => !submitted && !mismatch);
      if (left.length === 0) return;
      await insert(withoutRepeats(left));
    }
  }

  /** Inserts a group of these requests, unless some repeat earlier ones, which are then known. */
  async function insert(entries: readonly Entry[]): Promise<void> {
    const { caller } = entries[0]!;
    const planned = planGroup(
      deps,
      caller,
      entries.map(({ request }) => request),
    );
    const { group } = planned;
    const billedAt = deps.billingClock.now();
    const options = {
      limits: limitsFor(deps, caller),
      now: group.createdAt,
      billedAt,
      ...(group.tier === 'default' && { worker: deps.worker }),
    };
    const outcome = await store.requests.create(group, planned.chunks, planned.requests, options);
    switch (outcome.outcome) {
      case 'created':
        for (const [line, entry] of entries.entries())
          entry.submitted = { id: lineRequestId({ batchId: group.id, line }), replayed: false };
        if (outcome.leased.length === 0) return wake();
        return deps.runNow({ ...group, blobId: null, weight: caller.weight ?? 1 }, outcome.leased);
      case 'repeats':
        for (const { line, id } of outcome.repeats)
          if (id === null) entries[line]!.mismatch = true;
          else entries[line]!.submitted = { id, replayed: true };
        return;
      case 'budget_used_up':
        throw budgetExceeded(outcome.budget, billedAt);
      case 'limit_exceeded':
        throw limitExceeded(outcome.exceeded, 'request');
      case 'older_server':
        throw new ApiError(
          'older_server',
          'A process of an earlier version uses the database, and would not know this request. Upgrade all processes, or leave out service_tier and background.',
        );
    }
  }

  /** Writer of the requests that may be in one group with this one. */
  async function write(entry: Entry): Promise<void> {
    const { caller, request } = entry;
    const { endpoint, model, tier, tag, timeoutMs } = request;
    const key = JSON.stringify([caller.orgId, caller.keyId, endpoint, model, tier, tag, timeoutMs]);
    const writer = writers.get(key) ?? {
      write: coalesceWrites(writeGroup, maxGroup, () => sleep(deps.timer, restMs)),
      pending: 0,
    };
    writers.set(key, writer);
    writer.pending++;
    try {
      await writer.write(entry);
    } finally {
      if (--writer.pending === 0) writers.delete(key);
    }
  }

  return {
    async submit(caller: Caller, request: DurableRequest) {
      requireDisk();
      const entry: Entry = { caller, request: prepareRequest(request, usageTag) };
      if (!catalog.find(entry.request.model)) await catalog.refresh();
      await write(entry);
      if (entry.mismatch) throw idempotencyMismatch();
      return entry.submitted!;
    },

    async cancel(orgId, id, rows) {
      const place = placeInGroup(id);
      const group = await store.batches.find(place.batchId);
      if (!group) return false;
      const error = new ApiError('batch_cancelled', 'The request was cancelled before it was answered.');
      const end = { line: place.line, model: group.model ?? closeModel, attempts: 0 };
      const result = failedResult(group, end, id, error);
      const isEnded = await store.requests.end(orgId, { ...result, rows }, deps.clock.now());
      if (!isEnded) return false;
      deps.drop(place);
      wake();
      return true;
    },

    async answer({ id, replayed }, signal, trace) {
      const result = await results.wait(placeInGroup(id), replayed, signal);
      if (trace) noteResult(trace, result, replayed);
      return answerOf(result);
    },
  };
}

/** The first requests of each key or body where others repeat them. */
function withoutRepeats(entries: readonly Entry[]): Entry[] {
  const seen = new Map<string, boolean>();
  return entries.filter(({ request: { creation } }) => {
    const { token, retry } = creation;
    const mayRepeat = token.startsWith('k:') || retry > 0;
    const before = seen.get(token);
    if (before !== undefined && (before || mayRepeat)) return false;
    seen.set(token, mayRepeat);
    return true;
  });
}

import { backoffMs } from '../../base/backoff.ts';
import { createFairGate, type FairGate } from '../../base/fair-gate.ts';
import type { LineRef } from '../../core/batch.ts';
import { type CallTrace, toCallFields } from '../../core/call-trace.ts';
import { ApiError, permanent } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import type { LineAnswer, LineCall } from '../../inference/inference.ts';
import type { LineResult } from '../../store/contract/results.ts';
import type { BatchContext } from '../batch-context.ts';
import {
  afterFailure,
  afterRefusal,
  type Attempts,
  isSaidAgain,
  isSpent,
  noAttempts,
} from '../claimed/retry-policy.ts';
import type { ClaimDemand } from '../queue/claim-demand.ts';
import type { Fairness } from '../queue/fairness.ts';
import type { SlotLeases } from '../queue/slot-leases.ts';
import { type ClaimedChunk, leaseOf, type RunningBatch } from '../claimed/claimed-chunks.ts';
import { asApiError, isStorageUnavailable, linePauses, QuotedError } from '../lines/line-errors.ts';
import { failedResult, lineRequestId, outputResult } from '../lines/line-result.ts';
import { lostInputMessage } from '../lines/chunk-lines.ts';
import { prepareWithBody, type BatchLine } from '../../wire/batch/read-line.ts';
import { nextChunk } from './next-line.ts';
import { SendPacer } from './send-pacer.ts';
import type { PrefixAffinity } from '../claimed/prefix-affinity.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';
import type { Recorder } from '../record/recorder.ts';
import type { BatchBackoff } from '../claimed/batch-backoff.ts';
import { poisonKills, type PoisonSuspects } from '../claimed/poison-suspects.ts';
import type { LocalWork } from '../claimed/local-work.ts';

export interface DispatcherDeps extends BatchContext {
  work: LocalWork;
  suspects: PoisonSuspects;
  demand: ClaimDemand;
  fairness: Fairness;
  warmup: PrefixWarmup;
  affinity: PrefixAffinity;
  slots: Pick<SlotLeases, 'look' | 'isAsking'>;
  recorder: Recorder;
  backoff: Pick<BatchBackoff, 'add'>;
  /** More lines should be claimed. */
  fetch: () => void;
}

/** Lines of the largest size that may hold files at once; of one org half of them. */
const filledAtOnce = 16;

/** Where prompts that were read are not shared, nobody gains by waiting for the first. */
const noWarmup = { shouldWait: () => false };

interface ReadyLine extends Pick<LineCall, 'model' | 'asked'> {
  /** Gives back the room of the files it holds. */
  leave: () => void;
}

/** Sends lines while there is room and turns what comes back into results (batch-engine.md, "Running"). */
export class Dispatcher {
  #deps: DispatcherDeps;
  #stopped = true;
  /** A line is short where it names a file, and its body may be as long as any. As many wait as there are slots. */
  #filled: FairGate;
  #turns: SendPacer;
  /** Where files are kept for batches alone, no line waits to have its own looked for. */
  #mayNameFiles: boolean;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    const room = filledAtOnce * deps.limits.lineBytes;
    this.#filled = createFairGate({ capacity: room, maxPerOwner: room / 2 });
    this.#turns = new SendPacer(deps.clock, () => this.dispatch());
    this.#mayNameFiles = deps.files.purposes.some((purpose) => purpose !== 'batch');
  }

  start(): void {
    this.#stopped = false;
  }

  /** Sends nothing more; what is in flight still lands. */
  stop(): void {
    this.#stopped = true;
  }

  /** Fills every engine from what is in hand, and asks for more where that does not do. */
  dispatch(): void {
    const { demand, fetch, work, capacity, slots, holdsLeases } = this.#deps;
    // A process that stood still may wake here before it knows what it has lost.
    if (this.#stopped || !holdsLeases()) return;
    for (const model of demand.models()) {
      // What could not be sent has its turn again; until then other lines try whether it works.
      if (capacity.waiting(model) === null) work.chunks.unpark(model);
      if (!slots.isAsking(model)) this.#send(model, demand.room(model));
      if (demand.wants(model)) fetch();
    }
    slots.look();
  }

  /** @param room for so many lines */
  #send(model: string, room: number): void {
    if (room <= 0) return;
    // Who finds out how many a server takes must see what many at once do there.
    const isPaced = this.#deps.capacity.discoveredSlots(model) === undefined;
    const most = isPaced ? Math.min(room, this.#turns.left(model)) : room;
    let left = most;
    while (left > 0 && this.#sendNext(model)) left--;
    this.#turns.sent(model, most - left);
    if (left === 0 && most < room) this.#turns.scheduleNext();
  }

  #sendNext(model: string): boolean {
    const { work, fairness, demand, capacity, catalog } = this.#deps;
    const lanes = this.#deps.affinity.snapshot(model);
    const warmup = capacity.prefixCache(model) === 'shared' ? this.#deps.warmup : noWarmup;
    const standIns = capacity.activeFallbacks(model);
    const isPriced = ({ priced }: RunningBatch) =>
      priced.some((name) => standIns.includes(catalog.idOf(name)));
    const mayRun = standIns.length > 0 ? isPriced : undefined;
    const next = () => nextChunk(work.chunks, model, fairness, warmup, lanes, mayRun);
    const claimed = next() ?? (work.chunks.unpark(model) ? next() : undefined);
    if (!claimed) return false;
    // Its name stands for another model now, or for none that is served here.
    if (catalog.idOf(claimed.chunk.model) !== model) {
      work.yieldChunk(claimed);
      return this.#sendNext(model);
    }
    // A follower waits for its leader, and a second line of a lane for the first, only while other work may exist.
    const shouldWait = warmup.shouldWait(model, claimed.chunk.prefix) || (lanes?.inFlight(claimed) ?? 0) > 0;
    if (shouldWait && demand.wants(model)) return false;
    const ref = work.chunks.take(claimed);
    if (!ref) return false;
    fairness.charge(claimed.batch.orgId, estimate(claimed));
    this.#deps.warmup.sent(model, claimed.chunk.prefix);
    this.#deps.affinity.sent(model, claimed.chunk.prefix);
    demand.starting(model, 1);
    this.#start(claimed, ref);
    return true;
  }

  #start(claimed: ClaimedChunk, ref: LineRef): void {
    void this.#run(claimed, ref).finally(() => {
      const { work } = this.#deps;
      work.chunks.landed(claimed);
      work.settle(claimed);
      this.dispatch();
    });
  }

  async #run(claimed: ClaimedChunk, ref: LineRef): Promise<void> {
    const { demand, warmup, inference, log } = this.#deps;
    const { chunk, model } = claimed;
    const line = await claimed.lines
      .read(ref)
      .catch((error: unknown) => void this.#unreadable(claimed, error));
    if (!line) return demand.starting(model, -1);
    const sentAt = this.#deps.clock.monotonic();
    let asking: ReadyLine | undefined;
    try {
      const found = this.#find(claimed);
      asking = this.#mayNameFiles ? await this.#filledIn(claimed, line, found) : asItStands(line, found);
    } catch (error) {
      this.#failed(claimed, ref, line, error, sentAt);
    }
    // Until the engine counts it, in the same turn.
    demand.starting(model, -1);
    if (!asking) return;
    const { model: found, asked } = asking;
    const { abort, orgId, priced, expiresAt: deadline } = claimed.batch;
    const known: CallTrace | undefined = log.isLevelEnabled('debug') ? {} : undefined;
    const attempts = claimed.attempts.get(ref.line);
    const { made } = attempts ?? noAttempts;
    try {
      const { prefix } = chunk;
      const { signal } = abort;
      const told = known && { known };
      const isRepeat = attempts !== undefined;
      const call = { model: found, asked, priced, orgId, prefix, deadline, isRepeat, signal, ...told };
      this.#resolve(claimed, ref, this.#result(claimed, ref, line, await inference.runLine(call)));
      warmup.answered(model, chunk.prefix);
      if (known) this.#tell(claimed, ref, made + 1, known);
    } catch (error) {
      this.#failed(claimed, ref, line, error, sentAt);
      if (known) this.#tell(claimed, ref, made + 1, known, error);
    } finally {
      asking.leave();
    }
  }

  #tell({ batch }: ClaimedChunk, ref: LineRef, attempt: number, known: CallTrace, failure?: unknown): void {
    const request = { request_id: lineRequestId(batch.id, ref.line), org: batch.orgId, attempt };
    const failed = failure !== undefined && { code: asApiError(failure).code };
    this.#deps.log.debug({ ...request, ...toCallFields(known), ...failed }, failed ? 'line failed' : 'line');
  }

  /** Disks recover and files that are gone do not: the batch waits for one and ends for the other. No attempt is lost. */
  #unreadable(claimed: ClaimedChunk, error: unknown): Promise<void> {
    const { warmup, fairness, backoff } = this.#deps;
    const { model, chunk, batch } = claimed;
    warmup.failed(model, chunk.prefix);
    fairness.charge(batch.orgId, -estimate(claimed));
    return backoff.add(batch.id, error, lostInputMessage(error));
  }

  /** Who is asked. */
  #find({ chunk }: ClaimedChunk): Model {
    const { catalog, missing } = this.#deps;
    const model = catalog.find(chunk.model);
    if (!model)
      throw new ApiError('model_not_found', `The model '${chunk.model}' does not exist any more.`, {
        // It went while the line was read, and may come again.
        blame: missing.isLost(chunk.model) ? permanent : { scope: 'model', certain: true, retry: true },
      });
    if (chunk.kills >= poisonKills)
      throw new ApiError(
        'poison_request',
        'The process died each time this request was running; it is not tried again.',
      );
    return model;
  }

  /** What is asked, with the content of the files that the line names. */
  async #filledIn({ batch }: ClaimedChunk, line: BatchLine, model: Model): Promise<ReadyLine> {
    const { files, limits } = this.#deps;
    const { orgId, abort } = batch;
    let leave = () => {};
    const hold = async (bytes: number) => {
      leave = await this.#filled.enter(orgId, bytes, abort.signal);
    };
    try {
      const own = line.body.text;
      const text = await files.inline(orgId, own, limits.lineBytes, hold);
      return { model, asked: text === own ? line.prepared : prepareWithBody(line, text), leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #result(claimed: ClaimedChunk, ref: LineRef, line: BatchLine, answer: LineAnswer): LineResult {
    const { fairness } = this.#deps;
    const { batch, chunk } = claimed;
    fairness.charge(batch.orgId, answer.usage.inputTokens + answer.usage.outputTokens - estimate(claimed));
    const { made } = claimed.attempts.get(ref.line) ?? noAttempts;
    // Billed under the name whose price the batch froze, whatever the model is called now.
    const paid = answer.model ?? chunk.model;
    return outputResult(batch.id, ref.line, line.customId, paid, answer, made + 1);
  }

  #failed(claimed: ClaimedChunk, ref: LineRef, line: BatchLine, thrown: unknown, sentAt: number): void {
    const { capacity, clock, random, log, fairness, warmup } = this.#deps;
    const { batch, chunk } = claimed;
    if (isStorageUnavailable(thrown)) return void this.#unreadable(claimed, thrown);
    warmup.failed(claimed.model, chunk.prefix);
    // It was served nothing, and is charged again when it is sent again.
    fairness.charge(batch.orgId, -estimate(claimed));
    if (batch.abort.signal.aborted) return;
    const error = asApiError(thrown);
    if (error.status === 500) log.error({ err: thrown, batch: batch.id }, 'a line failed inside the server');
    const before = claimed.attempts.get(ref.line) ?? noAttempts;
    const isRefusal = error.blame.scope !== 'request' && error.blame.certain;
    const count = isRefusal ? afterRefusal : afterFailure;
    const attempts = count(before, error, clock.monotonic(), capacity.outcomes(claimed.model));
    claimed.attempts.set(ref.line, attempts);
    if (isSpent(attempts) || !error.blame.retry) {
      // A message that comes twice for one request is about the request.
      const told = isSaidAgain(before, error) ? new QuotedError(error) : error;
      const result = failedResult(batch, ref.line, line.customId, chunk.model, told, attempts.made);
      return this.#resolve(claimed, ref, result);
    }
    if (isRefusal) return this.#refused(claimed, ref, attempts, attempts.passed > before.passed);
    const pause = backoffMs(attempts.made, linePauses, random.float());
    // The time that the failure took counts as part of the pause.
    this.#again(claimed, ref, Math.max(0, sentAt + pause - clock.monotonic()));
  }

  /**
   * The line waits until its server takes requests, and no attempt is counted. Where others get through it is in their way, and
   * waits by itself: what is refused alone, and then sent first, would leave them one request a pause.
   */
  #refused(claimed: ClaimedChunk, ref: LineRef, { passed }: Attempts, isPassed: boolean): void {
    const { work, capacity, random } = this.#deps;
    if (!isPassed && capacity.waiting(claimed.model) !== null) work.chunks.park(claimed, ref);
    else this.#again(claimed, ref, backoffMs(Math.max(1, passed), linePauses, random.float()));
  }

  #again(claimed: ClaimedChunk, ref: LineRef, ms: number): void {
    this.#deps.clock.after(ms, () => {
      if (!claimed.batch.stopping) this.#deps.work.chunks.putBack(claimed, ref);
      this.dispatch();
    });
  }

  #resolve(claimed: ClaimedChunk, ref: LineRef, result: LineResult): void {
    claimed.lines.forget(ref.line);
    this.#deps.recorder.add(result);
    this.#deps.demand.answered(claimed.model);
    claimed.remaining--;
    if (claimed.remaining === 0) this.#finish(claimed);
  }

  #finish(claimed: ClaimedChunk): void {
    this.#deps.work.chunks.retire(claimed);
    if (claimed.suspect && claimed.chunk.kills < poisonKills) this.#deps.suspects.answered();
    this.#deps.recorder.finish(leaseOf(claimed.chunk));
  }
}

const nothing = () => {};

function asItStands({ prepared: asked }: BatchLine, model: Model): ReadyLine {
  return { model, asked, leave: nothing };
}

/** Tokens one line of the chunk is expected to take. */
function estimate(claimed: ClaimedChunk): number {
  return claimed.chunk.est / Math.max(1, claimed.chunk.lines.length);
}

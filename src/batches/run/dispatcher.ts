import { noReservation, type Reservation } from '../../accounts/reservations.ts';
import { backoffMs } from '../../base/backoff.ts';
import { createFairGate, type FairGate } from '../../base/fair-gate.ts';
import type { LineRef } from '../../core/batch.ts';
import { type CallTrace, toCallFields } from '../../core/call-trace.ts';
import { ApiError, permanent } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import { ceilCost } from '../../core/price.ts';
import type { LineAnswer, LineCall } from '../../inference/inference.ts';
import type { LineResult } from '../../store/contract/results.ts';
import type { BatchContext } from '../batch-context.ts';
import {
  afterFailure,
  afterRefusal,
  type Attempts,
  isMessageRepeated,
  isSpent,
  noAttempts,
} from '../claimed/retry-policy.ts';
import type { ClaimDemand } from '../queue/claim-demand.ts';
import type { Fairness } from '../queue/fairness.ts';
import type { SlotLeases } from '../queue/slot-leases.ts';
import { type ClaimedChunk, leaseOf, type RunningBatch } from '../claimed/claimed-chunks.ts';
import { asApiError, isStorageUnavailable, lineBackoff, QuotedError } from '../lines/line-errors.ts';
import { failedResult, lineRequestId, outputResult } from '../lines/line-result.ts';
import { lostInputMessage } from '../lines/chunk-lines.ts';
import { prepareWithBody, type BatchLine } from '../../wire/batch/read-line.ts';
import { estimatedLineCost, tokensPerLine } from './line-cost.ts';
import { nextChunk } from './next-line.ts';
import { SendPacer } from './send-pacer.ts';
import type { PrefixAffinity } from '../claimed/prefix-affinity.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';
import type { Throughput } from './throughput.ts';
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
  throughput: Throughput;
  affinity: PrefixAffinity;
  slots: Pick<SlotLeases, 'look' | 'isAsking'>;
  recorder: Recorder;
  backoff: Pick<BatchBackoff, 'add'>;
  /** Claims more lines. */
  fetch: () => void;
}

/** Concurrent lines with files, if of the maximum size; one org gets at most half. */
const maxFilledLines = 16;

/** For engines that do not share cached prompts between slots. */
const noWarmup = { shouldWait: () => false };

interface ReadyLine extends Pick<LineCall, 'model' | 'asked'> {
  /** Releases the memory of the line's files. */
  leave: () => void;
}

/** Sends lines while there is room and turns answers into results (batch-engine.md, "Running"). */
export class Dispatcher {
  #deps: DispatcherDeps;
  #stopped = true;
  /** Limits the memory of lines with files, whose bodies can be large. */
  #filled: FairGate;
  #pacer: SendPacer;
  /** False where files are for batches alone: no line can name one. */
  #mayNameFiles: boolean;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    const room = maxFilledLines * deps.limits.lineBytes;
    this.#filled = createFairGate({ capacity: room, maxPerOwner: room / 2 });
    this.#pacer = new SendPacer(deps.clock, () => this.dispatch());
    this.#mayNameFiles = deps.files.purposes.some((purpose) => purpose !== 'batch');
  }

  start(): void {
    this.#stopped = false;
  }

  /** Sends no more lines; lines in flight go on. */
  stop(): void {
    this.#stopped = true;
  }

  /** Fills every engine with claimed lines, and claims more where they do not suffice. */
  dispatch(): void {
    const { demand, fetch, work, capacity, slots, holdsLeases } = this.#deps;
    // After a suspension, the process does not know yet which leases it has lost.
    if (this.#stopped || !holdsLeases()) return;
    for (const model of demand.models()) {
      if (capacity.waiting(model) === null) work.chunks.unpark(model);
      if (!slots.isAsking(model)) this.#send(model, demand.room(model));
      if (demand.wants(model)) fetch();
    }
    slots.look();
  }

  #send(model: string, room: number): void {
    if (room <= 0) return;
    // The discovery of slots needs many concurrent requests.
    const isPaced = this.#deps.capacity.discoveredSlots(model) === undefined;
    const max = isPaced ? Math.min(room, this.#pacer.left(model)) : room;
    let left = max;
    while (left > 0 && this.#sendNext(model)) left--;
    this.#pacer.sent(model, max - left);
    if (left === 0 && max < room) this.#pacer.scheduleNext();
  }

  #sendNext(model: string): boolean {
    const { work, fairness, demand, capacity, catalog, controls, budgets } = this.#deps;
    const prefixes = this.#deps.affinity.snapshot(model);
    const warmup = capacity.prefixCache(model) === 'shared' ? this.#deps.warmup : noWarmup;
    const fallbacks = capacity.activeFallbacks(model);
    const isPriced = ({ priced }: RunningBatch) =>
      fallbacks.length === 0 || priced.some((name) => fallbacks.includes(catalog.idOf(name)));
    const mayRun = (batch: RunningBatch) => controls.pausing(batch.orgId, model) === null && isPriced(batch);
    const next = () => nextChunk(work.chunks, model, fairness, warmup, prefixes, mayRun);
    const claimed = next() ?? (work.chunks.unpark(model) ? next() : undefined);
    if (!claimed) return false;
    // The configuration has changed: the name now means another model, or none.
    if (catalog.idOf(claimed.chunk.model) !== model) {
      work.yieldChunk(claimed);
      return this.#sendNext(model);
    }
    if (!budgets.hasRoom(claimed.batch)) {
      work.yieldBatch(claimed.batch.id);
      return this.#sendNext(model);
    }
    // Waiting for the first line of a prefix pays only while there may be other work.
    const { prefix } = claimed.chunk;
    const shouldWait = warmup.shouldWait(model, prefix) || (prefixes?.inFlight(claimed) ?? 0) > 0;
    if (shouldWait && demand.wants(model)) return false;
    const ref = work.chunks.take(claimed);
    if (!ref) return false;
    fairness.charge(claimed.batch, tokensPerLine(claimed.chunk));
    this.#deps.warmup.sent(model, prefix);
    this.#deps.affinity.sent(model, prefix);
    this.#deps.throughput.sent(model);
    demand.starting(model, 1);
    const reservation = budgets.reserve(claimed.batch, () =>
      estimatedLineCost(claimed.chunk, ref, claimed.batch),
    );
    void this.#run(claimed, ref, reservation).finally(() => {
      reservation.release();
      work.chunks.landed(claimed);
      this.#deps.throughput.landed(model);
      work.settle(claimed);
      this.dispatch();
    });
    return true;
  }

  async #run(claimed: ClaimedChunk, ref: LineRef, reservation: Reservation): Promise<void> {
    const { demand, warmup, inference } = this.#deps;
    const { chunk, model } = claimed;
    const line = await claimed.lines
      .read(ref)
      .catch((error: unknown) => void this.#unreadable(claimed, error));
    if (!line) return demand.starting(model, -1);
    const sentAt = this.#deps.clock.monotonic();
    let ready: ReadyLine | undefined;
    try {
      const found = this.#find(claimed);
      ready = this.#mayNameFiles
        ? await this.#filledIn(claimed, line, found)
        : { model: found, asked: line.prepared, leave: () => {} };
    } catch (error) {
      this.#failed(claimed, ref, line, error, sentAt);
    }
    // The engine counts the line from here on, in the same turn of the event loop.
    demand.starting(model, -1);
    if (!ready) return;
    const { model: found, asked } = ready;
    const { abort, orgId, weight, priced, expiresAt: deadline } = claimed.batch;
    const trace = this.#traceFor();
    const attempts = claimed.attempts.get(ref.line);
    const attempt = (attempts ?? noAttempts).made + 1;
    try {
      const { prefix } = chunk;
      const { signal } = abort;
      const isRepeat = attempts !== undefined;
      const traced = trace && { trace };
      const call = {
        model: found,
        asked,
        priced,
        orgId,
        weight,
        prefix,
        deadline,
        isRepeat,
        signal,
        ...traced,
      };
      const result = this.#result(claimed, ref, line, await inference.runLine(call));
      reservation.charge(ceilCost(result.cost));
      this.#resolve(claimed, ref, result, reservation);
      warmup.answered(model, prefix);
      if (trace) this.#noteCall(claimed, ref, attempt, trace);
    } catch (error) {
      this.#failed(claimed, ref, line, error, sentAt);
      if (trace) this.#noteCall(claimed, ref, attempt, trace, error);
    } finally {
      ready.leave();
    }
  }

  /** Trace of an attempt, if anything reads it. */
  #traceFor(): CallTrace | undefined {
    const { log, tracer } = this.#deps;
    if (tracer) return { span: tracer.beginLine() };
    return log.isLevelEnabled('debug') ? {} : undefined;
  }

  /** Logs an attempt, and records its span. */
  #noteCall(
    { batch }: ClaimedChunk,
    ref: LineRef,
    attempt: number,
    trace: CallTrace,
    failure?: unknown,
  ): void {
    const { log, tracer } = this.#deps;
    const code = failure === undefined ? undefined : asApiError(failure).code;
    const { id: batchId, orgId, endpoint } = batch;
    tracer?.endLine({ batchId, orgId, endpoint, line: ref.line, attempt, code, trace });
    const request = { request_id: lineRequestId(batch.id, ref.line), org: batch.orgId, attempt };
    const failed = code !== undefined && { code };
    log.debug({ ...request, ...toCallFields(trace), ...failed }, failed ? 'line failed' : 'line');
  }

  /** Backs off for an unavailable disk, and fails the batch for a lost file. The line loses no attempt. */
  #unreadable(claimed: ClaimedChunk, error: unknown): Promise<void> {
    const { warmup, fairness, backoff } = this.#deps;
    const { model, chunk, batch } = claimed;
    warmup.failed(model, chunk.prefix);
    fairness.charge(batch, -tokensPerLine(claimed.chunk));
    return backoff.add(batch.id, error, lostInputMessage(error));
  }

  #find({ chunk }: ClaimedChunk): Model {
    const { catalog, missing } = this.#deps;
    const model = catalog.find(chunk.model);
    if (!model)
      throw new ApiError('model_not_found', `The model '${chunk.model}' does not exist any more.`, {
        // A model that was removed a moment ago may come back.
        blame: missing.isLost(chunk.model) ? permanent : { scope: 'model', certain: true, retry: true },
      });
    if (chunk.kills >= poisonKills)
      throw new ApiError(
        'poison_request',
        'The process died each time this request was running. The request is not sent again.',
      );
    return model;
  }

  /** The line's request with the content of the files that it names. */
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
    const { batch, chunk } = claimed;
    this.#deps.fairness.charge(
      batch,
      answer.usage.inputTokens + answer.usage.outputTokens - tokensPerLine(claimed.chunk),
    );
    const { made } = claimed.attempts.get(ref.line) ?? noAttempts;
    // Charged under the name whose price the batch froze, even if the model is renamed.
    const paid = answer.model ?? chunk.model;
    return outputResult(batch, ref.line, line.customId, paid, answer, made + 1);
  }

  #failed(claimed: ClaimedChunk, ref: LineRef, line: BatchLine, thrown: unknown, sentAt: number): void {
    const { capacity, clock, random, log, fairness, warmup } = this.#deps;
    const { batch, chunk } = claimed;
    if (isStorageUnavailable(thrown)) return void this.#unreadable(claimed, thrown);
    warmup.failed(claimed.model, chunk.prefix);
    // The line was not served; it is charged again when it is sent again.
    fairness.charge(batch, -tokensPerLine(claimed.chunk));
    if (batch.abort.signal.aborted) return;
    const error = asApiError(thrown);
    if (error.status === 500) log.error({ err: thrown, batch: batch.id }, 'a line failed inside the server');
    const before = claimed.attempts.get(ref.line) ?? noAttempts;
    const isRefusal = error.blame.scope !== 'request' && error.blame.certain;
    const count = isRefusal ? afterRefusal : afterFailure;
    const attempts = count(before, error, clock.monotonic(), capacity.outcomes(claimed.model));
    claimed.attempts.set(ref.line, attempts);
    if (isSpent(attempts) || !error.blame.retry) {
      // A message that repeats for one request is about the request.
      const reported = isMessageRepeated(before, error) ? new QuotedError(error) : error;
      const result = failedResult(batch, ref.line, line.customId, chunk.model, reported, attempts.made);
      return this.#resolve(claimed, ref, result);
    }
    if (isRefusal) return this.#refused(claimed, ref, attempts, attempts.passed > before.passed);
    const pause = backoffMs(attempts.made, lineBackoff, random.float());
    // The pause includes the time that the failure took.
    this.#again(claimed, ref, Math.max(0, sentAt + pause - clock.monotonic()));
  }

  /**
   * Makes the line wait until the model takes requests. If other requests are answered, the line backs off alone: sent first
   * after each pause, it would limit them to one request a pause.
   */
  #refused(claimed: ClaimedChunk, ref: LineRef, { passed }: Attempts, isPassed: boolean): void {
    const { work, capacity, random } = this.#deps;
    if (!isPassed && capacity.waiting(claimed.model) !== null) work.chunks.park(claimed, ref);
    else this.#again(claimed, ref, backoffMs(Math.max(1, passed), lineBackoff, random.float()));
  }

  #again(claimed: ClaimedChunk, ref: LineRef, ms: number): void {
    this.#deps.clock.after(ms, () => {
      if (!claimed.batch.stopping) this.#deps.work.chunks.putBack(claimed, ref);
      this.dispatch();
    });
  }

  #resolve(claimed: ClaimedChunk, ref: LineRef, result: LineResult, reservation = noReservation): void {
    const { recorder, demand, throughput, work, suspects } = this.#deps;
    claimed.lines.forget(ref.line);
    recorder.add(result, reservation);
    demand.answered(claimed.model);
    throughput.answered(claimed.model, tokensPerLine(claimed.chunk));
    claimed.remaining--;
    if (claimed.remaining !== 0) return;
    work.chunks.retire(claimed);
    if (claimed.suspect && claimed.chunk.kills < poisonKills) suspects.answered();
    recorder.finish(leaseOf(claimed.chunk));
  }
}

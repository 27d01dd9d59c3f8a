import { noReservation, type Reservation } from '../../accounts/reservations.ts';
import { backoffMs } from '../../base/backoff.ts';
import type { LineRef } from '../../core/batch.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { familyOf } from '../../core/key-family.ts';
import { addFailure, type LineRun } from '../../core/line.ts';
import { ceilCost } from '../../core/price.ts';
import type { LineAnswer } from '../../inference/inference.ts';
import type { LineResult } from '../../store/contract/results.ts';
import type { BatchLine } from '../../wire/batch/read-line.ts';
import type { BatchContext, FinishAnswer } from '../batch-context.ts';
import type { BatchBackoff } from '../claimed/batch-backoff.ts';
import { type ClaimedChunk, leaseOf } from '../claimed/claimed-chunks.ts';
import type { LocalWork } from '../claimed/local-work.ts';
import { poisonKills, type PoisonSuspects } from '../claimed/poison-suspects.ts';
import {
  afterFailure,
  afterRefusal,
  type Attempts,
  isMessageRepeated,
  isPassed,
  isSpent,
  noAttempts,
} from '../claimed/retry-policy.ts';
import { lostInputMessage } from '../lines/chunk-lines.ts';
import { asApiError, isStorageUnavailable, lineBackoff, QuotedError } from '../lines/line-errors.ts';
import { failedResult, outputResult } from '../lines/line-result.ts';
import type { ClaimDemand } from '../queue/claim-demand.ts';
import type { Recorder } from '../record/recorder.ts';
import { tokensPerLine } from './line-cost.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';
import type { Throughput } from './throughput.ts';

/** A line in flight. */
export interface SentLine {
  claimed: ClaimedChunk;
  ref: LineRef;
  /** Budget that it holds. */
  reservation: Reservation;
  /** Corrects the charge for its org's share to the tokens that it used. */
  settle: (tokens: number) => void;
}

/** Attempt under way. */
export interface BegunAttempt {
  /** Monotonic milliseconds. */
  sentAt: number;
  trace: CallTrace;
}

export interface LineOutcomesDeps extends Pick<
  BatchContext,
  'capacity' | 'clock' | 'time' | 'random' | 'log' | 'finishAnswer'
> {
  work: LocalWork;
  suspects: PoisonSuspects;
  demand: Pick<ClaimDemand, 'answered'>;
  warmup: Pick<PrefixWarmup, 'answered' | 'failed'>;
  throughput: Pick<Throughput, 'answered'>;
  recorder: Pick<Recorder, 'add' | 'finish'>;
  backoff: Pick<BatchBackoff, 'add'>;
  /** Sends more lines. */
  dispatch: () => void;
}

/** Turns the answers of lines into results, and decides which lines are sent again. */
export class LineOutcomes {
  #deps: LineOutcomesDeps;

  constructor(deps: LineOutcomesDeps) {
    this.#deps = deps;
  }

  answered(
    { claimed, ref, reservation, settle }: SentLine,
    line: BatchLine,
    answer: LineAnswer,
    begun: BegunAttempt,
  ): void {
    const { batch, chunk, model } = claimed;
    settle(answer.usage.inputTokens + answer.usage.outputTokens);
    const { made, failures } = claimed.attempts.get(ref.line) ?? noAttempts;
    const run = { ...this.#runOf(begun), ...(failures.length > 0 && { failures }) };
    // Charged under the name whose price the batch froze, even if the model is renamed.
    const paid = answer.model ?? chunk.model;
    const finished = this.#finished(claimed, line, { answer: answer.body });
    const whole = { body: finished.answer ?? answer.body, usage: answer.usage };
    const output = outputResult(batch, ref.line, line.customId, paid, whole, made + 1, run);
    const result = { ...output, rows: finished.rows };
    reservation.charge(ceilCost(result.cost));
    this.#resolve(claimed, ref, result, reservation);
    this.#deps.warmup.answered(model, chunk.prefix);
  }

  /** Completes the answer of a single request, which has rows to store. */
  #finished(
    { batch: { orgId, keyId, keyFamily, tier, endpoint } }: ClaimedChunk,
    line: BatchLine,
    outcome: Parameters<FinishAnswer>[2],
  ): ReturnType<FinishAnswer> {
    const { finishAnswer, time } = this.#deps;
    if (tier === null || !finishAnswer) return { rows: {} };
    const request = { orgId, keyId: familyOf({ keyId, keyFamily }), tier, endpoint, now: time.now() };
    return finishAnswer(request, line, outcome);
  }

  /** Ends a line that was cancelled: another result is recorded. */
  dropped({ claimed, ref, settle }: SentLine): void {
    settle(0);
    this.#deps.warmup.failed(claimed.model, claimed.chunk.prefix);
    this.#ended(claimed, ref);
  }

  failed(sent: SentLine, line: BatchLine, thrown: unknown, begun: BegunAttempt): void {
    const { capacity, clock, random, log, warmup } = this.#deps;
    const { claimed, ref, settle } = sent;
    const { batch, chunk } = claimed;
    if (isStorageUnavailable(thrown)) return void this.unreadable(sent, thrown);
    warmup.failed(claimed.model, chunk.prefix);
    // The line was not served; it is charged again when it is sent again.
    settle(0);
    if (batch.abort.signal.aborted) return;
    const error = asApiError(thrown);
    if (error.status === 500) log.error({ err: thrown, batch: batch.id }, 'a line failed inside the server');
    const before = claimed.attempts.get(ref.line) ?? noAttempts;
    const isRefusal = error.blame.scope !== 'request' && error.blame.certain;
    const count = isRefusal ? afterRefusal : afterFailure;
    const run = this.#runOf(begun);
    const failures = addFailure(before.failures, { ...run, code: error.code });
    const outcomes = capacity.outcomes(claimed.model);
    const counted = count(before, error, clock.monotonic(), outcomes);
    const attempts = { ...counted, failures };
    claimed.attempts.set(ref.line, attempts);
    if (isSpent(attempts) || !error.blame.retry) {
      // A message that repeats for one request is about the request.
      const reported = isMessageRepeated(before, error) ? new QuotedError(error) : error;
      const record = { ...run, failures };
      const { made } = attempts;
      const result = failedResult(batch, ref.line, line.customId, chunk.model, reported, made, record);
      const { rows } = this.#finished(claimed, line, { error: reported });
      return this.#resolve(claimed, ref, { ...result, rows });
    }
    if (isRefusal) return this.#refused(claimed, ref, attempts, isPassed(before, outcomes));
    const pause = backoffMs(attempts.made, lineBackoff, random.float());
    // The pause includes the time that the failure took.
    this.#again(claimed, ref, Math.max(0, begun.sentAt + pause - clock.monotonic()));
  }

  /** Record of an attempt that ends now. */
  #runOf({ sentAt, trace }: BegunAttempt): Pick<LineRun, 'at' | 'ms' | 'server'> {
    const { clock, time } = this.#deps;
    const ms = Math.max(0, Math.round(clock.monotonic() - sentAt - (trace.queuedMs ?? 0)));
    return { at: time.now(), ms, server: trace.server ?? null };
  }

  /** Backs off for an unavailable disk, and fails the batch for a lost file. The line loses no attempt. */
  unreadable({ claimed, settle }: SentLine, error: unknown): Promise<void> {
    const { warmup, backoff } = this.#deps;
    const { model, chunk, batch } = claimed;
    warmup.failed(model, chunk.prefix);
    settle(0);
    return backoff.add(batch.id, error, lostInputMessage(error));
  }

  /**
   * Makes the line wait until the model takes requests. If it takes others, the line backs off alone, longer each time: sent first after
   * each pause of the model, it would limit them to one request a pause.
   */
  #refused(claimed: ClaimedChunk, ref: LineRef, attempts: Attempts, isOvertaken: boolean): void {
    const { work, capacity, random } = this.#deps;
    if (!isOvertaken && capacity.waiting(claimed.model) !== null) return work.chunks.park(claimed, ref);
    const pauses = attempts.pauses + 1;
    claimed.attempts.set(ref.line, { ...attempts, pauses });
    this.#again(claimed, ref, backoffMs(pauses, lineBackoff, random.float()));
  }

  #again(claimed: ClaimedChunk, ref: LineRef, ms: number): void {
    this.#deps.clock.after(ms, () => {
      if (!claimed.batch.stopping) this.#deps.work.chunks.putBack(claimed, ref);
      this.#deps.dispatch();
    });
  }

  #resolve(claimed: ClaimedChunk, ref: LineRef, result: LineResult, reservation = noReservation): void {
    const { recorder, demand, throughput } = this.#deps;
    recorder.add(result, reservation);
    demand.answered(claimed.model);
    throughput.answered(claimed.model, tokensPerLine(claimed.chunk));
    this.#ended(claimed, ref);
  }

  /** Finishes the chunk with its last line. */
  #ended(claimed: ClaimedChunk, ref: LineRef): void {
    const { recorder, work, suspects } = this.#deps;
    claimed.lines.forget(ref.line);
    claimed.remaining--;
    if (claimed.remaining !== 0) return;
    work.chunks.retire(claimed);
    if (claimed.suspect && claimed.chunk.kills < poisonKills) suspects.answered();
    recorder.finish(leaseOf(claimed.chunk));
  }
}

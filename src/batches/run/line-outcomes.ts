import { noReservation, type Reservation } from '../../accounts/reservations.ts';
import { backoffMs } from '../../base/backoff.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { addFailure, type LineRun } from '../../core/line.ts';
import { ceilCost } from '../../core/price.ts';
import type { LineAnswer } from '../../inference/inference.ts';
import type { LineResult } from '../../store/contract/results.ts';
import type { BatchLine } from '../../wire/batch/read-line.ts';
import type { BatchContext, FinishAnswer, RequestGroup } from '../batch-context.ts';
import type { BatchBackoff } from '../claimed/batch-backoff.ts';
import type { ClaimedLine } from '../claimed/claimed-chunks.ts';
import type { LocalWork } from '../claimed/local-work.ts';
import { afterFailure, afterRefusal, isMessageRepeated, isPassed, isSpent } from '../claimed/retry-policy.ts';
import { lostInputMessage } from '../lines/chunk-lines.ts';
import { asApiError, isStorageUnavailable, lineBackoff, QuotedError } from '../lines/line-errors.ts';
import { failedResult, outputResult } from '../lines/line-result.ts';
import type { ClaimDemand } from '../queue/claim-demand.ts';
import type { Recorder } from '../record/recorder.ts';
import { tokensPerLine } from './line-cost.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';
import type { Throughput } from './throughput.ts';

export interface SentLine {
  line: ClaimedLine;
  /** Budget that it holds. */
  reservation: Reservation;
  /** Corrects the charge for its org's share to the tokens that it used. */
  correctCharge: (tokens: number) => void;
}

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
  demand: Pick<ClaimDemand, 'answered'>;
  warmup: Pick<PrefixWarmup, 'answered' | 'failed'>;
  throughput: Pick<Throughput, 'answered'>;
  recorder: Pick<Recorder, 'add'>;
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
    { line, reservation, correctCharge }: SentLine,
    request: BatchLine,
    answer: LineAnswer,
    begun: BegunAttempt,
  ): void {
    const { batch, chunk, model } = line.claimed;
    correctCharge(answer.usage.inputTokens + answer.usage.outputTokens);
    const { made, failures } = line.attempts;
    const run = { ...this.#runOf(begun), ...(failures.length > 0 && { failures }) };
    // The charge uses the name whose price the batch froze, even if the model was renamed since.
    const end = { line: line.ref.line, model: answer.model ?? chunk.model, attempts: made + 1, run };
    const { answer: body = answer.body, rows } = this.#finished(batch, request, { answer: answer.body });
    const output = outputResult(batch, end, request.customId, { body, usage: answer.usage });
    const result = { ...output, rows };
    reservation.charge(ceilCost(result.cost));
    this.#resolve(line, result, reservation);
    this.#deps.warmup.answered(model, chunk.prefix);
  }

  /** Completes the answer of a single request, which has rows to store. */
  #finished(
    batch: RequestGroup,
    request: BatchLine,
    outcome: Parameters<FinishAnswer>[2],
  ): ReturnType<FinishAnswer> {
    const { finishAnswer, time } = this.#deps;
    return batch.tier && finishAnswer ? finishAnswer(batch, request, outcome, time.now()) : { rows: {} };
  }

  failed(sent: SentLine, request: BatchLine, thrown: unknown, begun: BegunAttempt): void {
    const { work, capacity, clock, random, log, warmup } = this.#deps;
    const { line, correctCharge } = sent;
    const { claimed, ref, attempts: before } = line;
    const { batch, chunk } = claimed;
    if (isStorageUnavailable(thrown)) return void this.unreadable(sent, thrown);
    warmup.failed(claimed.model, chunk.prefix);
    // The line was not served; it is charged again when it is sent again.
    correctCharge(0);
    // The result of a cancelled request is recorded.
    if (line.state === 'cancelling') return this.#ended(line);
    if (batch.abort.signal.aborted) return work.withdraw(line);
    const error = asApiError(thrown);
    if (error.status === 500) log.error({ err: thrown, batch: batch.id }, 'a line failed inside the server');
    const isRefusal = error.blame.scope !== 'request' && error.blame.certain;
    const count = isRefusal ? afterRefusal : afterFailure;
    const run = this.#runOf(begun);
    const failures = addFailure(before.failures, { ...run, code: error.code });
    const outcomes = capacity.outcomes(claimed.model);
    const counted = count(before, error, clock.monotonic(), outcomes);
    const attempts = { ...counted, failures };
    line.attempts = attempts;
    if (isSpent(attempts) || !error.blame.retry) {
      // A message that the upstream repeats for one request is about that request.
      const reported = isMessageRepeated(before, error) ? new QuotedError(error) : error;
      const record = { ...run, failures };
      const end = { line: ref.line, model: chunk.model, attempts: attempts.made, run: record };
      const { rows } = this.#finished(batch, request, { error: reported });
      return this.#resolve(line, { ...failedResult(batch, end, request.customId, reported), rows });
    }
    if (isRefusal) return this.#refused(line, isPassed(before, outcomes));
    const pause = backoffMs(attempts.made, lineBackoff, random.float());
    // The pause includes the time that the failure took.
    this.#again(line, Math.max(0, begun.sentAt + pause - clock.monotonic()));
  }

  /** Record of an attempt that ends now. */
  #runOf({ sentAt, trace }: BegunAttempt): Pick<LineRun, 'at' | 'ms' | 'server'> {
    const { clock, time } = this.#deps;
    const ms = Math.max(0, Math.round(clock.monotonic() - sentAt - (trace.queuedMs ?? 0)));
    return { at: time.now(), ms, server: trace.server ?? null };
  }

  /** Backs off for an unavailable disk, and fails the batch for a lost file. The line loses no attempt. */
  unreadable({ line, correctCharge }: SentLine, error: unknown): Promise<void> {
    const { work, warmup, backoff } = this.#deps;
    const { model, chunk, batch } = line.claimed;
    warmup.failed(model, chunk.prefix);
    correctCharge(0);
    work.withdraw(line);
    return backoff.add(batch.id, error, lostInputMessage(error));
  }

  /**
   * Makes the line wait until the model takes requests. If the model takes other requests, the line backs off alone, longer each time:
   * sent first after each pause of the model, it would leave them one request per pause.
   */
  #refused(line: ClaimedLine, isOvertaken: boolean): void {
    const { work, capacity, random } = this.#deps;
    if (!isOvertaken && capacity.waiting(line.claimed.model) !== null) return work.park(line);
    const pauses = line.attempts.pauses + 1;
    line.attempts = { ...line.attempts, pauses };
    this.#again(line, backoffMs(pauses, lineBackoff, random.float()));
  }

  #again(line: ClaimedLine, ms: number): void {
    this.#deps.work.backOff(line, ms, this.#deps.dispatch);
  }

  #resolve(line: ClaimedLine, result: LineResult, reservation = noReservation): void {
    const { recorder, demand, throughput } = this.#deps;
    const { model, chunk } = line.claimed;
    recorder.add(result, reservation);
    demand.answered(model);
    throughput.answered(model, tokensPerLine(chunk));
    this.#ended(line);
  }

  #ended(line: ClaimedLine): void {
    line.claimed.input.forget(line.ref.line);
    this.#deps.work.answered(line);
  }
}

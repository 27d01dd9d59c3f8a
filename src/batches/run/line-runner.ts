import { createFairGate, type FairGate } from '../../base/fair-gate.ts';
import { abortedWith } from '../../base/on-abort.ts';
import { type CallTrace, toCallFields } from '../../core/call-trace.ts';
import { ApiError, permanent } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import { isGroup, lineRequestId } from '../../core/request-group.ts';
import type { LineCall } from '../../inference/inference.ts';
import { prepareWithBody, type BatchLine } from '../../wire/batch/read-line.ts';
import type { BatchContext } from '../batch-context.ts';
import type { ClaimedChunk, ClaimedLine } from '../claimed/claimed-chunks.ts';
import { poisonKills } from '../claimed/poison-suspects.ts';
import { noAttempts } from '../claimed/retry-policy.ts';
import { asApiError } from '../lines/line-errors.ts';
import type { ClaimDemand } from '../queue/claim-demand.ts';
import type { LineOutcomes, SentLine } from './line-outcomes.ts';

export interface LineRunnerDeps extends BatchContext {
  demand: Pick<ClaimDemand, 'starting'>;
  outcomes: Pick<LineOutcomes, 'answered' | 'failed' | 'unreadable'>;
}

/** Concurrent lines with files, if of the maximum size; one org gets at most half. */
const maxFilledLines = 16;

interface ReadyLine extends Pick<LineCall, 'model' | 'asked'> {
  /** Releases the memory of the line's files. */
  leave: () => void;
}

/** Reads a line and calls the model for it. */
export class LineRunner {
  #deps: LineRunnerDeps;
  /** Limits the memory of lines with files, whose bodies can be large. */
  #filled: FairGate;
  /** False where files are for batches alone: no line can name one. */
  #mayNameFiles: boolean;

  constructor(deps: LineRunnerDeps) {
    this.#deps = deps;
    const room = maxFilledLines * deps.limits.lineBytes;
    this.#filled = createFairGate({ capacity: room, maxPerOwner: room / 2 });
    this.#mayNameFiles = deps.files.purposes.some((purpose) => purpose !== 'batch');
  }

  /** Makes one attempt; the line counts as starting until the engine counts it. */
  async run(sent: SentLine): Promise<void> {
    const { demand, outcomes, inference, clock, tracer } = this.#deps;
    const { ref, claimed, attempts } = sent.line;
    const { chunk, model, batch } = claimed;
    const line = await claimed.input
      .read(ref)
      .catch((error: unknown) => void outcomes.unreadable(sent, error));
    if (!line) return demand.starting.add(model, -1);
    const sentAt = clock.monotonic();
    let ready: ReadyLine | undefined;
    try {
      const found = this.#find(claimed);
      ready = this.#mayNameFiles
        ? await this.#filledIn(claimed, line, found)
        : { model: found, asked: line.prepared, leave: () => {} };
    } catch (error) {
      outcomes.failed(sent, line, error, { sentAt, trace: {} });
    }
    // The engine counts the line from here on, in the same turn of the event loop.
    demand.starting.add(model, -1);
    if (!ready) return;
    const { orgId, weight, priced, expiresAt: deadline, isInteractive = false } = batch;
    const call = isGroup(batch.id) ? beginCall(sent.line) : null;
    const trace: CallTrace = tracer ? { span: tracer.beginLine() } : {};
    const begun = { sentAt, trace };
    const attempt = attempts.made + 1;
    const isRepeat = attempts !== noAttempts;
    try {
      const answer = await inference.runLine({
        model: ready.model,
        id: lineRequestId({ batchId: batch.id, line: ref.line }),
        asked: ready.asked,
        priced,
        orgId,
        weight,
        prefix: chunk.prefix,
        deadline,
        // A failure is settled for lines only, by a trial request.
        isInteractive: isInteractive && !isRepeat,
        isRepeat,
        signal: call?.signal ?? batch.abort.signal,
        trace,
      });
      outcomes.answered(sent, line, answer, begun);
      this.#noteCall(sent, attempt, trace);
    } catch (error) {
      outcomes.failed(sent, line, error, begun);
      this.#noteCall(sent, attempt, trace, error);
    } finally {
      ready.leave();
      call?.end();
    }
  }

  /** Logs an attempt, and records its span. */
  #noteCall(
    { line: { claimed, ref } }: SentLine,
    attempt: number,
    trace: CallTrace,
    failure?: unknown,
  ): void {
    const { batch } = claimed;
    const { log, tracer } = this.#deps;
    const code = failure === undefined ? undefined : asApiError(failure).code;
    const { id: batchId, orgId, endpoint } = batch;
    tracer?.endLine({ batchId, orgId, endpoint, line: ref.line, attempt, code, trace });
    if (!log.isLevelEnabled('debug')) return;
    const request = {
      request_id: lineRequestId({ batchId: batch.id, line: ref.line }),
      org: batch.orgId,
      attempt,
    };
    const failed = code !== undefined && { code };
    log.debug({ ...request, ...toCallFields(trace), ...failed }, failed ? 'line failed' : 'line');
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
}

/** Begins the call of a single request, which can be cancelled alone. */
function beginCall(line: ClaimedLine): { signal: AbortSignal; end: () => void } {
  const { controller, forget } = abortedWith(line.claimed.batch.abort.signal);
  line.call = controller;
  if (line.state === 'cancelling') controller.abort();
  return {
    signal: controller.signal,
    end() {
      forget();
      line.call = null;
    },
  };
}

import { sleep } from '../../base/clock.ts';
import { createFairGate } from '../../base/fair-gate.ts';
import {
  type Batch,
  type BatchFault,
  closeModel,
  type FinalStatus,
  linesLeft,
  type ResultStream,
} from '../../core/batch.ts';
import { BlobError, isBlobLost } from '../../core/blob-error.ts';
import { ApiError, type ErrorCode, transient } from '../../core/errors.ts';
import { isGroup, lineRequestId } from '../../core/request-group.ts';
import type { StoredFile } from '../../core/file.ts';
import { removeContent } from '../../files/sweeper.ts';
import { lineRefAt } from '../../files/input-index.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { BatchContext } from '../batch-context.ts';
import { type BatchLine, readLine } from '../../wire/batch/read-line.ts';
import { failedResult } from '../lines/line-result.ts';
import { ChunkLines, readAhead } from '../lines/chunk-lines.ts';
import { fileInput } from '../lines/line-input.ts';
import { assembleResultFile } from './result-file.ts';

/** Lines without a result are recorded as errors in slices of this size. */
const missingSlice = 500;
/** Batches that write their result files at a time; orgs take turns. */
const maxWriting = 2;
/** Leases of a closing chunk after which an existing but unreadable input is given up; most are half a minute apart. */
const maxInputReads = 20;
/** Attempts to close a batch that fail because of the batch itself; the last one ends it as failed. */
const maxTries = 4;
/** Rows of a finished batch are deleted in slices of this size. */
const purgeSlice = 2_000;

const endings: Record<FinalStatus, { code: ErrorCode; message: string }> = {
  cancelled: {
    code: 'batch_cancelled',
    message: 'The batch was cancelled before this request was answered.',
  },
  expired: { code: 'batch_expired', message: 'The batch expired before this request was answered.' },
  failed: { code: 'batch_failed', message: 'The batch failed before this request was answered.' },
  completed: { code: 'batch_failed', message: 'The result of this request was lost. Retry the batch.' },
};

/** As `endings`, for single requests. */
const groupEndings: typeof endings = {
  ...endings,
  cancelled: { code: 'batch_cancelled', message: 'The request was cancelled before it was answered.' },
  expired: {
    code: 'resource_unavailable',
    message:
      'No server had room for this request within its time. It is not charged. Try again later, or with the service_tier default.',
  },
};

interface MissingLine {
  line: number;
  /** Null if the input is unreadable. */
  customId: string | null;
  model: string;
  /** Single request, which may store rows with its failure. */
  request?: BatchLine;
}

type ResultFiles = Record<'output' | 'errors', StoredFile | null>;

/** The published results of a batch differ from its counts. */
class ResultMismatch extends Error {}

/**
 * Closes a batch (batch-engine.md, "Close"): waits for the last answers, stops accepting results, records lines without one as
 * errors, writes the result files and publishes them with the final status. Another process can repeat every step.
 *
 * A batch that makes closing fail ends as failed after a few attempts, with the results that are readable.
 */
export class Finalizer {
  #deps: BatchContext;
  #stopped = new AbortController();
  #turns = createFairGate({ capacity: maxWriting, maxPerOwner: maxWriting });
  /** Failed attempts caused by the batch itself, by its id. */
  #failures = new Map<string, { times: number; error: unknown }>();

  constructor(deps: BatchContext) {
    this.#deps = deps;
  }

  /** Ends all waiting; a file being written is finished, or left to the next lease. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Rejects if the batch must be closed again later. */
  async close(lease: Lease): Promise<void> {
    const { batchId } = lease;
    try {
      await this.#close(lease);
      this.#failures.delete(batchId);
    } catch (error) {
      const { times } = this.#failures.get(batchId) ?? { times: 0 };
      if (await this.#isBatchFault(error)) this.#failures.set(batchId, { times: times + 1, error });
      throw error;
    }
  }

  /** False for faults of the disk or the whole database, which pass. */
  async #isBatchFault(error: unknown): Promise<boolean> {
    return !(error instanceof BlobError) && !(await this.#deps.isDatabaseDown(error));
  }

  /** Fault with which a batch ends at its last attempt. */
  #faultOf(batchId: string): BatchFault | undefined {
    const failures = this.#failures.get(batchId);
    if (!failures || failures.times < maxTries - 1) return undefined;
    const message =
      failures.error instanceof ResultMismatch
        ? 'The results of the batch and its counts differ.'
        : 'The database cannot read or write all results of the batch.';
    return { code: 'batch_failed', message, param: null, line: null };
  }

  async #close(lease: Lease): Promise<void> {
    const { store, clock, time } = this.#deps;
    const batch = await store.batches.find(lease.batchId);
    if (!batch || batch.closing === null) return;
    const incomplete = linesLeft(batch) > 0;
    if (incomplete) await sleep(clock, Math.max(0, batch.acceptUntil - time.now()), this.#stopped.signal);
    await this.#turns.within(batch.orgId, 1, undefined, () => this.#finish(batch, lease, incomplete));
  }

  /** Deletes the rows of a finished batch, slice by slice. */
  async purge(batchId: string): Promise<void> {
    while (!this.#stopped.signal.aborted)
      if (await this.#deps.store.results.purge(batchId, purgeSlice)) return;
  }

  async #finish(batch: Batch, lease: Lease, incomplete: boolean): Promise<void> {
    const { store, worker, time, log, tracer } = this.#deps;
    if (this.#stopped.signal.aborted) return void (await store.batches.release(worker, [lease]));
    const fault = this.#faultOf(batch.id);
    if (incomplete) {
      if (!(await store.batches.closeGate(worker, lease))) return;
      if (!(await this.#orIfFaulty(fault, true, () => this.#recordMissing(batch, lease)))) return;
    }
    const files = isGroup(batch.id) ? { output: null, errors: null } : await this.#assemble(batch, fault);
    const outcome = await this.#publish(batch, lease, files, fault);
    // Another process has the lease, or this one has published and lost the answer. Then the files are in use; unused ones are swept.
    if (outcome === 'fenced') return;
    if (!isGroup(batch.id)) {
      const { id, orgId, endpoint, closing, total, createdAt } = batch;
      const status = fault && closing !== 'cancelled' ? 'failed' : closing!;
      tracer?.endBatch({ id, orgId, endpoint, status, total, createdAt, endedAt: time.now() });
      log.info({ batch: id, status: closing, total, fault: fault?.message }, 'batch closed');
    }
    await this.purge(batch.id);
  }

  /** Runs `step`, and returns `instead` if it fails because of a batch that ends with `fault`. */
  async #orIfFaulty<T>(fault: BatchFault | undefined, instead: T, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (!fault || !(await this.#isBatchFault(error))) throw error;
      return instead;
    }
  }

  async #recordMissing(batch: Batch, lease: Lease): Promise<boolean> {
    const { store, worker, time, finishAnswer } = this.#deps;
    const { code, message } = (isGroup(batch.id) ? groupEndings : endings)[batch.closing ?? 'failed'];
    // The line never ran, so a retry may succeed.
    const error = new ApiError(code, message, { blame: transient });
    const input = await this.#input(batch, lease);
    for (let from = 0; ;) {
      const missing = await store.results.missing(batch.id, from, missingSlice);
      if (missing.length === 0) return true;
      from = missing.at(-1)! + 1;
      const inputs = await input(missing);
      const results = inputs.map(({ line, customId, model, request }) => ({
        ...failedResult(batch, { line, model, attempts: 0 }, customId, error),
        ...(request && finishAnswer && { rows: finishAnswer(batch, request, { error }, time.now()).rows }),
      }));
      if (!(await store.results.recordMissing(worker, lease, results, time.now()))) return false;
    }
  }

  /**
   * Reads the custom_ids of lines that never ran. An unreadable input is left to the next leases a few times; then, or if it
   * is lost, the lines end without custom_ids.
   */
  async #input(batch: Batch, lease: Lease): Promise<(lines: readonly number[]) => Promise<MissingLine[]>> {
    const { store, blobs, files, log } = this.#deps;
    const unknown = { customId: null, model: batch.model ?? closeModel };
    const allUnknown = async (lines: readonly number[]) => lines.map((line) => ({ line, ...unknown }));
    if (isGroup(batch.id)) return (lines) => this.#requests(batch.id, unknown.model, lines);
    const file = await store.files.find(batch.inputFileId);
    if (!file) return allUnknown;
    const giveUp = async (error: unknown): Promise<undefined> => {
      // Throws while the blob store is unavailable: result files could not be written either.
      const isThere = !isBlobLost(error) && (await blobs.size(file.blobId)) !== undefined;
      if (isThere && lease.epoch < maxInputReads) throw error;
      log.error({ err: error, batch: batch.id }, 'the input of a closing batch is unreadable');
    };
    const index = await files.index(file).catch(giveUp);
    if (!index) return allUnknown;
    return async (missing) => {
      const refs = missing.map((line) => lineRefAt(index, line));
      const lines = new ChunkLines(fileInput(blobs, file.blobId), refs);
      await readAhead([lines]);
      const inputs: MissingLine[] = [];
      for (const ref of refs) {
        const read = await lines.read(ref).catch(giveUp);
        const model = index.models[index.model[ref.line] ?? 0] ?? unknown.model;
        inputs.push({ line: ref.line, customId: read?.customId ?? null, model });
      }
      return inputs;
    };
  }

  async #requests(groupId: string, model: string, lines: readonly number[]): Promise<MissingLine[]> {
    const bodies = await this.#deps.store.requests.bodies(groupId, lines);
    return lines.map((line, at) => {
      const body = bodies[at];
      const customId = lineRequestId({ batchId: groupId, line });
      return { line, customId, model, ...(body && { request: readLine(body) }) };
    });
  }

  async #assemble(batch: Batch, fault: BatchFault | undefined): Promise<ResultFiles> {
    const now = this.#deps.time.now();
    const write = (stream: ResultStream) =>
      this.#orIfFaulty(fault, null, () => assembleResultFile(this.#deps, batch, stream, now));
    const output = await write('output');
    try {
      return { output, errors: await write('errors') };
    } catch (error) {
      await this.#remove({ output, errors: null });
      throw error;
    }
  }

  async #publish(
    batch: Batch,
    lease: Lease,
    files: ResultFiles,
    fault: BatchFault | undefined,
  ): Promise<'published' | 'fenced'> {
    const { store, worker, time, isDatabaseDown } = this.#deps;
    try {
      const outcome = await store.batches.publish(worker, lease, files, time.now(), fault);
      if (outcome !== 'incomplete') return outcome;
      throw new ResultMismatch(`The results and the counts of ${batch.id} differ.`);
    } catch (error) {
      // In an outage, the publication may have succeeded: unused files are swept.
      if (!(await isDatabaseDown(error))) await this.#remove(files);
      throw error;
    }
  }

  /** Removes unpublished files; the sweeper removes those that stay. */
  async #remove({ output, errors }: ResultFiles): Promise<void> {
    const { blobs, log } = this.#deps;
    for (const file of [output, errors])
      if (file)
        await removeContent(blobs, file.blobId).catch((error: unknown) =>
          log.warn({ err: error, blob: file.blobId }, 'a blob was left behind'),
        );
  }
}

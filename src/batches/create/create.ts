import type { Batch, Chunk, CreateBatch } from '../../core/batch.ts';
import { defaultWindow } from '../../core/batch-window.ts';
import { budgetExceeded } from '../../core/budget.ts';
import { type ApiError, idempotencyMismatch } from '../../core/errors.ts';
import { priorities } from '../../core/limits.ts';
import type { Caller } from '../../core/org.ts';
import { defaultTagName, tagOfText } from '../../core/usage-tag.ts';
import { fileByteLimits, tooMuchStored } from '../../files/quota.ts';
import type { IdempotencyToken } from '../../store/contract/idempotency.ts';
import type { CreateDeps } from '../batch-context.ts';
import { inlineFilename } from '../remove.ts';
import {
  type BatchInput,
  inputMissing,
  openInput,
  openRetry,
  refreshPeerModels,
  type Retry,
} from './batch-input.ts';
import type { ForecastDeps } from './forecast.ts';
import { batchOf, priorityFor } from './new-batch.ts';
import { planChunks } from './plan.ts';
import { limitExceeded, limitsFor, orgDisabled } from './quota.ts';
import { forecastWindows, isRefusable, retriedWindow, windowRefusal } from './windows.ts';

/** Collaborators of a creation that may be refused for its window. */
export interface CreateBatchDeps extends CreateDeps {
  forecasting: ForecastDeps;
}

interface CreatedBatch {
  id: string;
  /** True if the batch existed before. */
  replayed: boolean;
}

/** Plans and inserts the batch in one transaction. */
export async function createBatch(
  deps: CreateBatchDeps,
  caller: Caller,
  input: CreateBatch,
  creation: IdempotencyToken | undefined,
): Promise<CreatedBatch> {
  const opened = await openInput(deps, caller, input);
  return insertBatch(deps, caller, opened, { input, creation });
}

/** Creates a batch of the failed lines of another, with that batch's options and current settings. */
export async function retryBatch(
  deps: CreateBatchDeps,
  caller: Caller,
  retry: Retry,
  creation: IdempotencyToken | undefined,
): Promise<CreatedBatch> {
  const { of } = retry;
  if (caller.isOrgDisabled === true) throw orgDisabled();
  const window = retriedWindow(deps.batch.windows, retry.window, of);
  const input: CreateBatch = {
    endpoint: of.endpoint,
    ...(window && { window }),
    ...(of.metadata !== null && { metadata: of.metadata }),
    outputExpiresAfterSeconds: of.resultTtlMs / 1000,
    // An operator may have raised it above that of the key.
    priority: Math.min(of.priority, caller.maxPriority ?? priorities.max),
  };
  const opened = await openRetry(deps, caller, retry);
  return insertBatch(deps, caller, opened, { input, creation, retried: of });
}

async function insertBatch(
  deps: CreateBatchDeps,
  caller: Caller,
  opened: BatchInput,
  options: {
    input: CreateBatch;
    creation: IdempotencyToken | undefined;
    retried?: Pick<Batch, 'id' | 'inputName'>;
  },
): Promise<CreatedBatch> {
  const { store, catalog, ids, batch: settings } = deps;
  const { input, creation, retried } = options;
  const { batch, chunks, refused } = await planned().catch(async (error: unknown) => {
    await opened.sealed?.discard();
    throw error;
  });
  const storage = fileByteLimits(caller, deps.limits.storedBytes);
  const billedAt = deps.billingClock.now();
  // If this throws, the batch may exist and read its input; an unused file is swept later.
  const outcome = await store.batches.create(batch, chunks, {
    limits: limitsFor(deps, caller),
    now: batch.createdAt,
    billedAt,
    storage,
    // A repeated request for a batch that exists gets it, whatever its window.
    ...(refused && { replayOnly: true }),
    ...(creation && { creation }),
    ...(opened.sealed && { inlineFile: { ...opened.file, filename: inlineFilename(batch.id) } }),
  });
  if (outcome.outcome === 'created') return { id: batch.id, replayed: false };
  await opened.sealed?.discard();
  if (outcome.outcome === 'replayed') return { id: outcome.id, replayed: true };
  if (outcome.outcome === 'not_replayed') throw refused!;
  if (outcome.outcome === 'too_much_stored') throw tooMuchStored(outcome.quota, storage);
  if (outcome.outcome === 'budget_used_up') throw budgetExceeded(outcome.budget, billedAt);
  if (outcome.outcome === 'limit_exceeded') throw limitExceeded(outcome.exceeded);
  if (outcome.outcome === 'input_missing') throw inputMissing();
  throw idempotencyMismatch();

  async function planned(): Promise<{ batch: Batch; chunks: Chunk[]; refused: ApiError | undefined }> {
    await refreshPeerModels(catalog, opened);
    const made = toBatch();
    return {
      batch: made,
      chunks: planChunks(made.id, opened.index, catalog.idOf),
      refused: await refusedFor(made),
    };
  }

  async function refusedFor({ priority, createdAt: now }: Batch): Promise<ApiError | undefined> {
    if (!isRefusable(input.window)) return undefined;
    const placed = { index: opened.index, priority, now };
    const forecasts = await forecastWindows(deps.forecasting, caller, settings.windows, placed);
    return windowRefusal(input.window, forecasts);
  }

  function toBatch(): Batch {
    const { endpoint, metadata, outputExpiresAfterSeconds: ttlSeconds } = input;
    const { file, index } = opened;
    return batchOf(deps, caller, index, input.window ?? defaultWindow(settings.windows), {
      id: ids.next('batch_'),
      endpoint,
      priority: priorityFor(caller, input.priority),
      inputFileId: file.id,
      inputName: retried ? retried.inputName : opened.sealed ? null : file.filename,
      metadata: metadata ?? null,
      tag: tagOfText(metadata, deps.usageTag ?? defaultTagName),
      warnings: file.warnings,
      retryOf: retried?.id ?? null,
      tier: null,
      resultTtlMs: ttlSeconds === undefined ? settings.resultTtlMs : ttlSeconds * 1000,
    });
  }
}

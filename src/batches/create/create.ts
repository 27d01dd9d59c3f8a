import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import {
  type Batch,
  type BatchEndpoint,
  type BatchRules,
  type Chunk,
  type CreateBatch,
  defaultEndpoints,
  newBatch,
} from '../../core/batch.ts';
import { budgetExceeded } from '../../core/budget.ts';
import { ApiError, invalid } from '../../core/errors.ts';
import type { StoredFile } from '../../core/file.ts';
import type { Catalog, SharedCatalog, Model } from '../../core/model.ts';
import { priorities } from '../../core/limits.ts';
import { dueAt } from '../../core/urgency.ts';
import { fallbacksFor, modelFor } from '../../core/model-access.ts';
import type { Caller } from '../../core/org.ts';
import { defaultTagName, tagOfText } from '../../core/usage-tag.ts';
import { type FrozenPrices, pricesAt } from '../../core/price.ts';
import type { Files, SealedUpload, UploadOptions } from '../../files/files.ts';
import { fileByteLimits, tooMuchStored } from '../../files/quota.ts';
import type { InputIndex } from '../../files/input-index.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyToken } from '../../store/contract/idempotency.ts';
import { lineFormats } from '../../wire/batch/line-formats.ts';
import { unknownInFile } from '../../wire/batch/line-faults.ts';
import { faultsError } from '../../wire/schema/validate.ts';
import { inlineFilename } from '../remove.ts';
import type { BatchLimits } from '../batch-context.ts';
import { limitExceeded, limitsFor, orgDisabled } from './quota.ts';
import { planChunks } from './plan.ts';

/** Advantage of small batches: `due` is this many milliseconds per estimated token after creation, at most half the window. */
const msPerToken = 1;
/** Results of lines in flight at the end of the window are accepted for this long. */
const drainGraceMs = 2_000;

export interface CreateDeps {
  /** Throws while the disk has no room for new batches. */
  requireDisk: () => void;
  store: Store;
  files: Files;
  catalog: SharedCatalog;
  ids: Ids;
  clock: Pick<Clock, 'now'>;
  /** Time of prices. */
  billingClock: Pick<Clock, 'now'>;
  limits: BatchLimits & { storedBytes: number };
  /** Metadata member whose value is the tag of the usage. */
  usageTag?: string;
  batch: {
    /** Endpoints of new batches on any surface; `defaultEndpoints` if absent. */
    endpoints?: readonly BatchEndpoint[];
    priceFactor: number;
    resultTtlMs: number;
    completionWindowMs: number;
  };
}

/** Failed lines of a finished batch, for a new one. */
export interface Retry {
  of: Batch;
  /** JSON Lines. */
  lines: AsyncIterable<Uint8Array>;
}

/** Input of a batch, stored or about to be. */
export interface BatchInput {
  file: StoredFile;
  index: InputIndex;
  sealed: SealedUpload | null;
}

const newline = Uint8Array.of(0x0a);
/** Approximate size of the pieces in which inline requests are written. */
const pieceBytes = 65_536;

/** Opens the requests of a new batch: the uploaded file, or the inline requests, validated and written to a file. */
export async function openInput(
  deps: CreateDeps,
  caller: Caller,
  input: CreateBatch,
  options: Pick<UploadOptions, 'isDiscarded'> = {},
): Promise<BatchInput> {
  requirePriority(caller, input);
  const { requests } = input;
  const opened = requests
    ? await newInput(deps, caller, jsonLines(requests), {
        ...options,
        source: 'inline',
        ...(input.rules && { rules: input.rules }),
        ...(input.isStrict !== undefined && { isStrict: input.isStrict }),
      })
    : await storedInput(deps, caller, input);
  if (opened.file.endpoint !== input.endpoint) {
    await opened.sealed?.discard();
    throw invalid(
      'endpoint',
      `the requests are for ${opened.file.endpoint}, the batch is for ${input.endpoint}`,
      'url_mismatch',
    );
  }
  return opened;
}

/** @throws ApiError `permission_denied` for a priority above that of the key */
function requirePriority({ maxPriority = priorities.max }: Caller, { priority }: CreateBatch): void {
  if (priority !== undefined && priority > maxPriority)
    throw new ApiError(
      'permission_denied',
      `This key may create batches with a priority of at most ${maxPriority}, not ${priority}.`,
      { param: 'priority' },
    );
}

/** Priority of a new batch: the requested one, or the default as far as the key may have it. */
export function priorityFor({ maxPriority = priorities.max }: Caller, asked: number | undefined): number {
  return asked ?? Math.min(priorities.default, maxPriority);
}

async function storedInput(
  { store, files, clock, requireDisk }: CreateDeps,
  caller: Caller,
  input: CreateBatch,
): Promise<BatchInput> {
  requireDisk();
  const file = await store.files.get(caller.orgId, input.inputFileId ?? '', clock.now());
  if (!file) throw invalid('input_file_id', 'no such file, or it has expired');
  if (file.purpose !== 'batch')
    throw invalid('input_file_id', `the purpose of the file is ${file.purpose}, not batch`);
  requireSize(file, input.rules);
  if (input.isStrict === true && file.warnings.length > 0)
    throw faultsError(file.warnings.map(unknownInFile));
  await files.requireContent(file);
  return { file, index: await files.index(file), sealed: null };
}

/** @throws ApiError for a file that another surface accepted, with higher limits */
function requireSize({ requests, bytes }: StoredFile, rules: BatchRules | undefined): void {
  if (!rules) return;
  if ((requests ?? 0) > rules.requests)
    throw invalid(
      'input_file_id',
      `expected a file with at most ${rules.requests} requests (limits.requests_per_batch), got ${requests}`,
      'too_many_tasks',
    );
  if (bytes > rules.bytes)
    throw new ApiError(
      'payload_too_large',
      `The file is larger than ${rules.bytes} bytes (limits.bytes_per_batch).`,
      { param: 'input_file_id' },
    );
}

function* jsonLines(requests: readonly Uint8Array[]): Generator<Uint8Array> {
  let piece: Uint8Array[] = [];
  let bytes = 0;
  for (const request of requests) {
    piece.push(request, newline);
    bytes += request.length + 1;
    if (bytes < pieceBytes) continue;
    yield Buffer.concat(piece, bytes);
    piece = [];
    bytes = 0;
  }
  yield Buffer.concat(piece, bytes);
}

async function newInput(
  { files }: CreateDeps,
  caller: Caller,
  lines: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  options: UploadOptions = {},
): Promise<BatchInput> {
  const upload = await files.begin(caller, options);
  try {
    for await (const bytes of lines) await upload.write(bytes);
    const sealed = await upload.seal({ filename: 'input.jsonl', expiresAt: null });
    return { file: sealed.file, index: sealed.index, sealed };
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

export async function refreshPeerModels(catalog: SharedCatalog, { index }: BatchInput): Promise<void> {
  if (index.models.some((name) => !catalog.find(name))) await catalog.refresh();
}

/** Freezes the prices of all models of the input and of their fallbacks. @throws ApiError for a model that the caller may not use */
export function freezePrices(
  catalog: Pick<Catalog, 'find'>,
  caller: Caller,
  { endpoint, models }: { endpoint: BatchEndpoint | null; models: readonly string[] },
  now: number,
): Record<string, FrozenPrices> {
  const { serves } = lineFormats[endpoint ?? '/v1/chat/completions'];
  const prices: Record<string, FrozenPrices> = Object.create(null);
  const fallbacks: Model[] = [];
  for (const name of models) {
    const model = modelFor(catalog, caller, name, serves);
    prices[model.id] = pricesAt(model.prices, now);
    if (model.batchFallbacksAfterMs !== undefined)
      fallbacks.push(...fallbacksFor(catalog, model, caller, serves));
  }
  for (const { id, prices: frozen } of fallbacks)
    prices[id] ??= { ...pricesAt(frozen, now), isFallback: true };
  return prices;
}

interface CreatedBatch {
  id: string;
  /** True if the batch existed before. */
  replayed: boolean;
}

/** Plans and inserts the batch in one transaction. */
export async function createBatch(
  deps: CreateDeps,
  caller: Caller,
  input: CreateBatch,
  creation: IdempotencyToken | undefined,
): Promise<CreatedBatch> {
  const opened = await openInput(deps, caller, input);
  return insertBatch(deps, caller, opened, { input, creation });
}

/** Writes the lines of a retry as its input, which is stored once its batch is inserted. */
export function openRetry(
  deps: CreateDeps,
  caller: Caller,
  { lines }: Retry,
  options: UploadOptions = {},
): Promise<BatchInput> {
  return newInput(deps, caller, lines, { ...options, rules: retryRules(deps), isStrict: false });
}

/** Rules of a retry: its requests were accepted before, on any surface. */
function retryRules({ batch: { endpoints = defaultEndpoints } }: CreateDeps): BatchRules {
  return { endpoints, requests: Infinity, bytes: Infinity, inlineBytes: Infinity, shortUrls: true };
}

/** Creates a batch of the failed lines of another, with that batch's options and current settings. */
export async function retryBatch(
  deps: CreateDeps,
  caller: Caller,
  retry: Retry,
  creation: IdempotencyToken | undefined,
): Promise<CreatedBatch> {
  const { of } = retry;
  if (caller.isOrgDisabled === true) throw orgDisabled();
  const input: CreateBatch = {
    endpoint: of.endpoint,
    ...(of.metadata !== null && { metadata: of.metadata }),
    outputExpiresAfterSeconds: of.resultTtlMs / 1000,
    // An operator may have raised it above that of the key.
    priority: Math.min(of.priority, caller.maxPriority ?? priorities.max),
  };
  const opened = await openRetry(deps, caller, retry);
  return insertBatch(deps, caller, opened, { input, creation, retried: of });
}

async function insertBatch(
  deps: CreateDeps,
  caller: Caller,
  opened: BatchInput,
  options: {
    input: CreateBatch;
    creation: IdempotencyToken | undefined;
    retried?: Pick<Batch, 'id' | 'inputName'>;
  },
): Promise<CreatedBatch> {
  const { store, catalog, ids, clock, batch: settings } = deps;
  const { input, creation, retried } = options;
  const { batch, chunks } = await planned().catch(async (error: unknown) => {
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
    ...(creation && { creation }),
    ...(opened.sealed && { inlineFile: { ...opened.file, filename: inlineFilename(batch.id) } }),
  });
  if (outcome.outcome === 'created') return { id: batch.id, replayed: false };
  await opened.sealed?.discard();
  if (outcome.outcome === 'replayed') return { id: outcome.id, replayed: true };
  if (outcome.outcome === 'too_much_stored') throw tooMuchStored(outcome.quota, storage);
  if (outcome.outcome === 'budget_used_up') throw budgetExceeded(outcome.budget, billedAt);
  if (outcome.outcome === 'limit_exceeded') throw limitExceeded(outcome.exceeded);
  throw refusal(outcome.outcome);

  async function planned(): Promise<{ batch: Batch; chunks: Chunk[] }> {
    await refreshPeerModels(catalog, opened);
    const made = toBatch();
    return { batch: made, chunks: planChunks(made.id, opened.index, catalog.idOf) };
  }

  function toBatch(): Batch {
    const { orgId, keyId, keyFamily = null } = caller;
    const { endpoint, metadata, outputExpiresAfterSeconds } = input;
    const { file, index } = opened;
    const now = clock.now();
    const est = index.est.reduce((sum, tokens) => sum + tokens, 0);
    const window = settings.completionWindowMs;
    const modelIds = new Set(index.models.map(catalog.idOf));
    const priority = priorityFor(caller, input.priority);
    return newBatch({
      id: ids.next('batch_'),
      orgId,
      keyId,
      keyFamily,
      endpoint,
      total: index.count,
      est,
      priority,
      inputFileId: file.id,
      inputName: retried ? retried.inputName : opened.sealed ? null : file.filename,
      model: modelIds.size === 1 ? [...modelIds][0]! : null,
      metadata: metadata ?? null,
      tag: tagOfText(metadata, deps.usageTag ?? defaultTagName),
      prices: freezePrices(
        catalog,
        caller,
        { endpoint: file.endpoint, models: index.models },
        deps.billingClock.now(),
      ),
      priceFactor: settings.priceFactor,
      warnings: file.warnings,
      retryOf: retried?.id ?? null,
      tier: null,
      resultTtlMs:
        outputExpiresAfterSeconds === undefined ? settings.resultTtlMs : outputExpiresAfterSeconds * 1000,
      createdAt: now,
      ...windowOf(now, window, { est, priority }),
    });
  }
}

/** Window of a batch that is created at `now`, and its place in the queue of its org. */
export function windowOf(
  now: number,
  window: number,
  { est, priority }: Pick<Batch, 'est' | 'priority'>,
): Pick<Batch, 'due' | 'acceptUntil' | 'expiresAt'> {
  const expiresAt = now + window;
  return {
    due: dueAt(now + Math.min(est * msPerToken, window / 2), priority),
    acceptUntil: expiresAt + drainGraceMs,
    expiresAt,
  };
}

function refusal(outcome: 'mismatch' | 'input_missing'): ApiError {
  if (outcome === 'input_missing') return invalid('input_file_id', 'no such file, or it has expired');
  return new ApiError('idempotency_mismatch', 'This Idempotency-Key was used with another body.');
}

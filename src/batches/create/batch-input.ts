import { type Batch, type BatchRules, type CreateBatch, defaultEndpoints } from '../../core/batch.ts';
import type { BatchWindow } from '../../core/batch-window.ts';
import { ApiError, invalid } from '../../core/errors.ts';
import type { StoredFile } from '../../core/file.ts';
import { priorities } from '../../core/limits.ts';
import type { SharedCatalog } from '../../core/model.ts';
import type { Caller } from '../../core/org.ts';
import type { InputIndex } from '../../files/input-index.ts';
import type { SealedUpload, UploadOptions } from '../../files/files.ts';
import { unknownInFile } from '../../wire/batch/line-faults.ts';
import { faultsError } from '../../wire/schema/validate.ts';
import type { CreateDeps } from '../batch-context.ts';

/** Failed lines of a finished batch, for a new one. */
export interface Retry {
  of: Batch;
  /** JSON Lines. */
  lines: AsyncIterable<Uint8Array>;
  /** Window that the request names, null for the default one; by default that of the old batch, if it is still offered. */
  window?: BatchWindow | null;
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

async function storedInput(
  { store, files, clock, requireDisk }: CreateDeps,
  caller: Caller,
  input: CreateBatch,
): Promise<BatchInput> {
  requireDisk();
  const file = await store.files.get(caller.orgId, input.inputFileId ?? '', clock.now());
  if (!file) throw inputMissing();
  if (file.purpose !== 'batch')
    throw invalid('input_file_id', `the purpose of the file is ${file.purpose}, not batch`);
  requireSize(file, input.rules);
  if (input.isStrict === true && file.warnings.length > 0)
    throw faultsError(file.warnings.map(unknownInFile));
  await files.requireContent(file);
  return { file, index: await files.index(file), sealed: null };
}

export function inputMissing(): ApiError {
  return invalid('input_file_id', 'no such file, or it has expired');
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
  return { endpoints, requests: Infinity, bytes: Infinity, inlineBytes: Infinity, anyPrefix: true };
}

export async function refreshPeerModels(catalog: SharedCatalog, { index }: BatchInput): Promise<void> {
  if (index.models.some((name) => !catalog.find(name))) await catalog.refresh();
}

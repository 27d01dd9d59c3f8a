import { type Batch, isFinal } from '../core/batch.ts';
import { ApiError } from '../core/errors.ts';
import type { Caller } from '../core/org.ts';
import type { Files } from '../files/files.ts';
import type { Store } from '../store/store.ts';

/** @throws ApiError `batch_not_finished` */
export function requireFinished({ status }: Pick<Batch, 'status'>, what: string): void {
  if (isFinal(status)) return;
  throw new ApiError(
    'batch_not_finished',
    `The batch is ${status}: ${what} once it has ended. Wait, or cancel it.`,
  );
}

/** The name of an input that was made with its batch; uploaded files have none that a batch got later. */
export function inlineFilename(batchId: string): string {
  return `${batchId}_input.jsonl`;
}

/** Removes what came with a finished batch: its results, and requests that stood in its body. */
export async function removeFiles(
  { store, files }: { store: Pick<Store, 'files'>; files: Pick<Files, 'remove'> },
  caller: Caller,
  { id, inputFileId, outputFileId, errorFileId }: Batch,
): Promise<void> {
  const input = await store.files.find(inputFileId);
  const own = input?.filename === inlineFilename(id) ? inputFileId : null;
  for (const fileId of [outputFileId, errorFileId, own])
    if (fileId !== null) await files.remove(caller, fileId).catch(unlessGone);
}

/** It was deleted by itself before, or another batch reads it. */
function unlessGone(error: unknown): void {
  if (error instanceof ApiError && (error.code === 'not_found' || error.code === 'file_in_use')) return;
  throw error;
}

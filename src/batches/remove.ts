import { type Batch, isFinal } from '../core/batch.ts';
import { ApiError } from '../core/errors.ts';
import type { Files } from '../files/files.ts';
import type { Store } from '../store/store.ts';

/** @param possible what a client can do once the batch has ended, such as "it can be deleted" @throws ApiError `batch_not_finished` */
export function requireFinished({ status }: Pick<Batch, 'status'>, possible: string): void {
  if (isFinal(status)) return;
  throw new ApiError(
    'batch_not_finished',
    `The batch is ${status}: ${possible} once it has ended. Wait, or cancel it.`,
  );
}

/** File name of inline requests, by which they are recognized later. */
export function inlineFilename(batchId: string): string {
  return `${batchId}_input.jsonl`;
}

/** Removes the files that belong to a finished batch: its results and its inline requests. */
export async function removeFiles(
  { store, files }: { store: Pick<Store, 'files'>; files: Pick<Files, 'remove'> },
  { id, orgId, inputFileId, outputFileId, errorFileId }: Batch,
): Promise<void> {
  const input = await store.files.find(inputFileId);
  const own = input?.filename === inlineFilename(id) ? inputFileId : null;
  for (const fileId of [outputFileId, errorFileId, own])
    if (fileId !== null) await files.remove({ orgId }, fileId).catch(unlessGone);
}

/** Ignores a file that was deleted before, or that another batch reads. */
function unlessGone(error: unknown): void {
  if (error instanceof ApiError && (error.code === 'not_found' || error.code === 'file_in_use')) return;
  throw error;
}

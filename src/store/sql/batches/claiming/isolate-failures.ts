import { ApiError } from '../../../../core/errors.ts';
import { StoreError } from '../../../../core/store-error.ts';
import type { Claim } from '../../../contract/claim.ts';

/** True if damaged rows may have caused the error; errors of the database as a whole have types of our own. */
export function mayBeRowFault(error: unknown): boolean {
  return !(error instanceof StoreError || error instanceof ApiError);
}

export const nothing: Claim = { chunks: [], batches: [], faults: [] };

/** Claims chunks; if that fails, claims from each chosen batch alone, so that damaged rows of one do not block the others. */
export async function isolateFailures(
  claim: (only: string[] | undefined, picked: Set<string>) => Promise<Claim>,
): Promise<Claim> {
  const picked = new Set<string>();
  try {
    return await claim(undefined, picked);
  } catch (error) {
    if (!mayBeRowFault(error) || picked.size === 0) throw error;
  }
  const all: Claim = { chunks: [], batches: [], faults: [] };
  for (const batchId of picked) {
    try {
      const { chunks, batches } = await claim([batchId], new Set());
      all.chunks.push(...chunks);
      all.batches.push(...batches);
    } catch (error) {
      if (!mayBeRowFault(error)) throw error;
      all.faults.push({ batchId, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return all;
}

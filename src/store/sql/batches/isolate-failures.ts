import { ApiError } from '../../../core/errors.ts';
import { StoreError } from '../../../core/store-error.ts';
import type { Claim } from '../../contract/claim.ts';

/** Whether an error may be the fault of the rows that were touched: what the database has as a whole is told in our own words. */
export function mayBeRowFault(error: unknown): boolean {
  return !(error instanceof StoreError || error instanceof ApiError);
}

export const nothing: Claim = { chunks: [], batches: [], faults: [] };

/**
 * Claims, and where the database refuses that, claims of every batch that was chosen alone: what is wrong with one keeps no
 * other from being claimed.
 */
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

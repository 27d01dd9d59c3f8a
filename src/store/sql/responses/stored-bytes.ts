import type { Queries } from '../../db.ts';
import type { StoredBytes } from '../../contract/stored-bytes.ts';

/** Adds to the stored bytes of orgs, in one lock order for all processes. */
export async function addBytes(q: Queries, changes: readonly StoredBytes[]): Promise<StoredBytes[]> {
  const sums = new Map<string, number>();
  for (const { orgId, bytes } of changes) sums.set(orgId, (sums.get(orgId) ?? 0) + bytes);
  const totals: StoredBytes[] = [];
  for (const orgId of [...sums.keys()].toSorted()) {
    const [row] = await q.all<{ bytes: number }>(
      `INSERT INTO response_usage (org_id, bytes) VALUES (?, ?)
       ON CONFLICT (org_id) DO UPDATE SET bytes = response_usage.bytes + excluded.bytes RETURNING bytes`,
      [orgId, sums.get(orgId)!],
    );
    totals.push({ orgId, bytes: row!.bytes });
  }
  return totals;
}

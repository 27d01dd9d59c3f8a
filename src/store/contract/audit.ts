import type { AuditChange, AuditEntry, AuditHead, AuditQuery, AuditStamp } from '../../core/audit.ts';

/**
 * Append-only log of administrative changes. Changes of orgs and keys add their entries in their own transactions; concurrent
 * appends wait for each other, so that the hashes form one chain.
 */
export interface AuditStore {
  /** Adds the entry of a change that is not an operation of the store. */
  append(stamp: AuditStamp, change: AuditChange): Promise<AuditEntry>;
  /** One page, with the head of the same snapshot. */
  list(query: AuditQuery): Promise<{ entries: AuditEntry[]; hasMore: boolean; head: AuditHead }>;
}

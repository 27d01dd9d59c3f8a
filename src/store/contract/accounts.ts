import type { Budget, SpentBudget } from '../../core/budget.ts';
import type { ApiKey, Org } from '../../core/org.ts';
import type { Usage } from '../../core/usage.ts';
import type { UsagePart, UsageCursor, UsageQuery } from '../../core/usage-report.ts';

export interface OrgStore {
  insert(org: Org, budget?: Budget): Promise<void>;
  get(id: string): Promise<Org | undefined>;
  /** All, oldest first. */
  list(): Promise<Org[]>;
  /** Changes what is given; a budget that is null is lifted. The org as it is now. */
  update(id: string, changes: OrgChanges): Promise<Org | undefined>;
  /** The budgets of those that have one, with what the ledger says that they spent. */
  budgets(now: number): Promise<SpentBudget[]>;
  /** Writes down which of them are used up since now, and which are not any more. */
  noteUsedUp(now: number): Promise<void>;
}

export interface OrgChanges {
  name?: string;
  budget?: Budget | null;
}

export interface KeyStore {
  /** @param hash SHA-256 of the whole key, lower-case hex; unique. Returns false when the hash is known already. */
  insert(key: ApiKey, hash: string): Promise<boolean>;
  findByHash(hash: string): Promise<ApiKey | undefined>;
  /** All keys, or one org's, oldest first. */
  list(orgId?: string): Promise<ApiKey[]>;
  /** Returns the key as it is now; revoking twice keeps the first instant. */
  revoke(id: string, at: number): Promise<ApiKey | undefined>;
  touch(uses: { id: string; at: number }[]): Promise<void>;
}

/** Token sums of one (source, model, day). `sourceId` is a batch or a synchronous request. */
export interface LedgerRow {
  sourceId: string;
  orgId: string;
  /** The key of the request, or the one that created the batch; null in rows of earlier versions. */
  keyId: string | null;
  model: string;
  /** UTC day, `2026-11-21`. */
  day: string;
  requests: number;
  usage: Usage;
  /** Nano-dollars for a synchronous request; null for rows of a batch, whose prices stand on the batch while it is there. */
  amount: number | null;
}

export interface LedgerStore {
  /** Rows of synchronous requests. A source already billed is not billed again. */
  add(rows: LedgerRow[]): Promise<void>;
  /** Rows of one batch or request. */
  forSource(sourceId: string): Promise<LedgerRow[]>;
  /** Rows of several batches at once, for lists. */
  forSources(sourceIds: string[]): Promise<LedgerRow[]>;
  /** Sums by the groups of the query: a part of it, so that what else is asked comes in between. */
  usage(query: UsageQuery, from?: UsageCursor): Promise<UsagePart>;
}

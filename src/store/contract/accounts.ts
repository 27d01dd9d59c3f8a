import type { AuditStamp } from '../../core/audit.ts';
import type { Budget, SpentBudget } from '../../core/budget.ts';
import type { ApiKey, KeyChanges, KeyOrg, Org, OrgChanges } from '../../core/org.ts';
import type { Usage } from '../../core/usage.ts';
import type { UsagePart, UsageCursor, UsageQuery } from '../../core/usage-report.ts';

/** Changes with a stamp add an entry to the audit log. */
export interface OrgStore {
  insert(org: Org, budget?: Budget, stamp?: AuditStamp): Promise<void>;
  get(id: string): Promise<Org | undefined>;
  /** All orgs, oldest first. */
  list(): Promise<Org[]>;
  /** Applies the changes and returns the org. A null budget removes the limit. */
  update(id: string, changes: OrgChanges, now: number, stamp?: AuditStamp): Promise<Org | undefined>;
  /** All budgets, with the spending in the ledger. */
  budgets(now: number): Promise<SpentBudget[]>;
  /** Records which budgets are used up as of now, and clears the others. */
  noteUsedUp(now: number): Promise<void>;
}

/** Changes with a stamp add an entry to the audit log. */
export interface KeyStore {
  /** @param hash SHA-256 of the key, lower-case hex. Returns false if the hash exists. */
  insert(key: ApiKey, hash: string, stamp?: AuditStamp): Promise<boolean>;
  findByHash(hash: string): Promise<(ApiKey & { org: KeyOrg }) | undefined>;
  get(id: string): Promise<ApiKey | undefined>;
  /** Keys of all orgs or one, oldest first. */
  list(orgId?: string): Promise<ApiKey[]>;
  /** Returns the revoked key; a second revocation keeps the first instant. */
  revoke(id: string, at: number, stamp?: AuditStamp): Promise<ApiKey | undefined>;
  update(id: string, changes: KeyChanges, now: number, stamp?: AuditStamp): Promise<ApiKey | undefined>;
  touch(uses: { id: string; at: number }[]): Promise<void>;
}

/** Token sums of a source (batch or interactive request), model and day. */
export interface LedgerRow {
  sourceId: string;
  orgId: string;
  /** Key of the request or the creator of the batch; may be null. */
  keyId: string | null;
  model: string;
  /** UTC day such as `2026-11-21`. */
  day: string;
  requests: number;
  usage: Usage;
  /** Nano-dollars; null for a batch that exists, because the batch has the prices. */
  amount: number | null;
}

export interface LedgerStore {
  /** Adds rows of interactive requests, once per source. */
  add(rows: LedgerRow[]): Promise<void>;
  forSource(sourceId: string): Promise<LedgerRow[]>;
  forSources(sourceIds: string[]): Promise<LedgerRow[]>;
  /** Sums by the groups of the query, in parts, so that other operations run in between. */
  usage(query: UsageQuery, from?: UsageCursor): Promise<UsagePart>;
}

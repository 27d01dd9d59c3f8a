import type { AuditStamp } from '../../core/audit.ts';
import type { Budget, BudgetOwner, SpentBudget } from '../../core/budget.ts';
import type { ApiKey, KeyChanges, KeyOrg, Org, OrgChanges } from '../../core/org.ts';
import type { ExactCost } from '../../core/price.ts';
import type { Usage } from '../../core/usage.ts';
import type { UsagePart, UsageCursor, UsageQuery } from '../../core/usage-report.ts';

/** Page of a list in ascending order of ids. */
export interface KeysetPage {
  /** Unlimited if absent. */
  limit?: number | undefined;
  /** Id after which the page starts. */
  after?: string | undefined;
}

/** Changes with a stamp add an entry to the audit log. */
export interface OrgStore {
  insert(org: Org, budget?: Budget, stamp?: AuditStamp): Promise<void>;
  get(id: string): Promise<Org | undefined>;
  /** Orgs, oldest first: all, or a page. */
  list(page?: KeysetPage): Promise<Org[]>;
  /** Names of those that exist, by id. */
  names(ids: readonly string[]): Promise<Map<string, string>>;
  /** Applies the changes and returns the org. A null budget removes the limit. */
  update(id: string, changes: OrgChanges, now: number, stamp?: AuditStamp): Promise<Org | undefined>;
  /** Orgs that are disabled, and since when. */
  disabled(): Promise<{ id: string; disabledAt: number }[]>;
  /**
   * Budgets with the spending in the ledger in the month of `billedAt`: of one org and key, or of all orgs and of all families of keys
   * that may spend. A family of revoked keys may spend through its unfinished batches.
   */
  budgets(billedAt: number, only?: BudgetOwner): Promise<SpentBudget[]>;
  /** Records at `now` which budgets are used up in the month of `billedAt` (`now` if absent), and clears the others. */
  noteUsedUp(now: number, billedAt?: number): Promise<void>;
}

/** A change that the state of a key does not allow. */
export interface KeyRefused {
  refused: ApiKey;
}

/** Changes with a stamp add an entry to the audit log. */
export interface KeyStore {
  /** @param hash SHA-256 of the key, lower-case hex. Returns false if the hash exists. */
  insert(key: ApiKey, hash: string, stamp?: AuditStamp): Promise<boolean>;
  /** Existing keys by their hash. */
  findByHashes(hashes: readonly string[]): Promise<Map<string, ApiKey & { org: KeyOrg }>>;
  get(id: string): Promise<ApiKey | undefined>;
  /** Keys of all orgs or one, oldest first: all, or a page. */
  list(orgId?: string, page?: KeysetPage): Promise<ApiKey[]>;
  /** Names of those that exist, by id. */
  names(ids: readonly string[]): Promise<Map<string, string>>;
  /** Returns the revoked key; a second revocation keeps the first instant. */
  revoke(id: string, at: number, stamp?: AuditStamp): Promise<ApiKey | undefined>;
  /**
   * Applies the changes and returns the key. A budget is that of the whole family. A key that is or was disabled, or has expired, loses
   * its sessions of the console. Undefined if there is no such key; `refused`, with
   * the key, if it is revoked and more than its budget would change.
   */
  update(
    id: string,
    changes: KeyChanges,
    now: number,
    stamp?: AuditStamp,
  ): Promise<ApiKey | KeyRefused | undefined>;
  /**
   * Inserts a key of the same family with the settings of another one, which ends at `endsAt` unless it expires earlier, or is revoked
   * now for null. Returns both. Undefined if there is no such key; `refused`, with the key, if it is replaced already, revoked, disabled
   * or expired.
   */
  rotate(
    id: string,
    next: { id: string; prefix: string; hash: string },
    endsAt: number | null,
    stamp: AuditStamp,
  ): Promise<{ key: ApiKey; old: ApiKey } | KeyRefused | undefined>;
  touch(uses: { id: string; at: number }[]): Promise<void>;
}

/** Sums of one source, model and hour. */
export interface LedgerRow {
  /** Id of a batch, or `singlesOf` the single requests of a key. */
  sourceId: string;
  orgId: string;
  /** Key of the requests or the creator of the batch; may be null. */
  keyId: string | null;
  model: string;
  /** UTC hour such as `2026-11-21T09`; the day `2026-11-21` once rolled up. */
  day: string;
  /** Path such as `/v1/chat/completions`; empty if unknown. */
  endpoint: string;
  /** Value of the metadata member by which usage is grouped, or empty. */
  tag: string;
  requests: number;
  usage: Usage;
  /** Nano-dollars; null for a row that version 0.1.0 wrote for a batch, because the batch has the prices. */
  amount: number | null;
}

/** Charge to add to the row of its source, model and hour. */
export interface LedgerEntry extends Omit<LedgerRow, 'amount'> {
  /** First key of the family that spends; null or absent for that key itself. */
  keyFamily?: string | null;
  /** Without rounding, so that errors do not add up. */
  cost: ExactCost;
}

/** A group of charges, numbered by its writer: a repeated write adds nothing. */
export interface LedgerCommit {
  writer: string;
  /** Ascending from 1. */
  number: number;
  /** Time of the commit, epoch milliseconds. */
  at: number;
}

export interface LedgerStore {
  /** Adds charges of single requests. */
  add(entries: LedgerEntry[], commit: LedgerCommit): Promise<void>;
  /**
   * Adds up to `limit` of the oldest rows that are not in the sums by day and month to these, from before the hour `before`. Returns the
   * number of rows taken; reports do not change. Takes none on a Postgres where a process without sums may have written after
   * `upgradedBefore`, epoch milliseconds.
   */
  addToSums(before: string, limit: number, upgradedBefore: number): Promise<number>;
  /**
   * Adds up to `limit` hourly rows from before `day`, which are in the sums, into rows of their days. Returns the number of rows taken;
   * reports do not change.
   */
  rollUp(day: string, limit: number): Promise<number>;
  /** Forgets the commits of writers that wrote none since `before`. */
  forgetWriters(before: number, now: number): Promise<void>;
  /** Hour of the newest row; its day or month if that is older than 40 days; null in an empty ledger. */
  newest(): Promise<string | null>;
  /** Rows of batches, or of days of single requests, by their ids. */
  forSources(sourceIds: string[]): Promise<LedgerRow[]>;
  /** Sums by the groups of the query, in parts, so that other operations run in between. */
  usage(query: UsageQuery, from?: UsageCursor): Promise<UsagePart>;
}

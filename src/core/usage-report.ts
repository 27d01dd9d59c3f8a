import type { Usage } from './usage.ts';

export const usageGroups = ['day', 'model', 'org', 'key', 'batch'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** Query of a range of UTC days such as `2026-11-21`, both included. */
export interface UsageQuery {
  start: string;
  end: string;
  groups: readonly UsageGroup[];
  /** All orgs if absent. */
  orgId?: string;
  /** Group values of the last row of the previous page. */
  after?: readonly string[];
  limit: number;
}

export interface UsageSum extends Usage {
  requests: number;
  /** Nano-dollars; may exceed the safe integers. */
  amount: bigint;
}

export interface UsageRow extends UsageSum {
  /** Value of each group of the query, in order; empty for no key or no batch. */
  groupValues: string[];
}

/** Sums of a part of the ledger; a group may occur in several parts. */
export interface UsagePart {
  rows: UsageRow[];
  /** Null after the last part. */
  next: UsageCursor | null;
}

/** Start of a part: after a row of a day of an org. */
export interface UsageCursor {
  org: string;
  day: string;
  row: number;
}

export interface UsageReport {
  /** Sorted by group values. */
  rows: UsageRow[];
  /** Sum over all pages; null after the first page. */
  total: UsageSum | null;
  hasMore: boolean;
}

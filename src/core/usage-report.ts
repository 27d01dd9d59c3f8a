import type { Usage } from './usage.ts';

/** Groupings of usage. */
export const usageGroups = ['day', 'model', 'org', 'key', 'batch'] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** What was used in some days, both included: `2026-11-21`, UTC. */
export interface UsageQuery {
  start: string;
  end: string;
  groups: readonly UsageGroup[];
  /** Absent for all orgs. */
  orgId?: string;
  /** The values of the groups behind which the page begins. */
  after?: readonly string[];
  limit: number;
}

export interface UsageSum extends Usage {
  requests: number;
  /** Nano-dollars; an org may spend more than a number holds. */
  amount: bigint;
}

export interface UsageRow extends UsageSum {
  /** The value of each group of the query, in that order; empty for no key, or no batch. */
  groupValues: string[];
}

/** Sums of a part of the ledger; a group may come in several parts. */
export interface UsagePart {
  rows: UsageRow[];
  /** Null where there are no more. */
  next: UsageCursor | null;
}

/** Where a part begins: behind a row of an org's day. */
export interface UsageCursor {
  org: string;
  day: string;
  row: number;
}

export interface UsageReport {
  /** By their groups, upwards. */
  rows: UsageRow[];
  /** Of all rows, not only of this page; null on pages behind the first. */
  total: UsageSum | null;
  hasMore: boolean;
}

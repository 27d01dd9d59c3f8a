import { type ServiceTier, serviceTiers } from './service-tier.ts';
import type { Usage } from './usage.ts';

export const usageGroups = [
  'day',
  'hour',
  'model',
  'org',
  'key',
  'endpoint',
  'batch',
  'tier',
  'tag',
] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** Members of a row of usage that hold the values of its groups. */
export const groupMembers = {
  day: 'day',
  hour: 'hour',
  model: 'model',
  org: 'org_id',
  key: 'key_id',
  endpoint: 'endpoint',
  batch: 'batch_id',
  tier: 'tier',
  tag: 'tag',
} as const satisfies Record<UsageGroup, string>;

/** Days for which usage is known by the hour. */
export const hourlyDays = 40;

/** Tiers of usage: those of single requests, and `batch` for lines of batches. */
export const usageTiers = [...serviceTiers, 'batch'] as const;

/** Starts of the sources of ledger rows at the tiers `batch` and `flex`. All others are at the tier `default`. */
export const batchSource = 'batch_';
export const flexSource = 'flex:';

/** Tier of the ledger rows of a source. */
export function tierOf(sourceId: string): (typeof usageTiers)[number] {
  if (sourceId.startsWith(batchSource)) return 'batch';
  return sourceId.startsWith(flexSource) ? 'flex' : 'default';
}

/** Source of the ledger rows of the single requests of a key at a tier; `default` if absent. */
export function singlesOf({
  keyId,
  endpoint,
  tag,
  tier,
}: {
  keyId: string | null;
  endpoint: string;
  tag: string;
  tier?: ServiceTier | null;
}): string {
  return `${tier === 'flex' ? flexSource : 'single:'}${keyId ?? ''}:${endpoint}:${tag}`;
}

/** Query of a range of time: UTC days such as `2026-11-21`, or hours such as `2026-11-21T09`. */
export interface UsageQuery {
  start: string;
  /** Excluded. */
  before: string;
  groups: readonly UsageGroup[];
  /** All orgs if absent. */
  orgId?: string;
  filter?: UsageFilter;
  /** Group values of the last row of the previous page. */
  after?: readonly string[];
  limit: number;
}

/** Values that rows must have. */
export interface UsageFilter {
  orgs?: readonly string[];
  keys?: readonly string[];
  models?: readonly string[];
  endpoints?: readonly string[];
  /** Excludes these endpoints. */
  exceptEndpoints?: readonly string[];
  /** Only batches, or only single requests. */
  batch?: boolean;
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

/**
 * Sums of several groups in columns. Ten thousand groups as objects make the garbage collector delay all requests, and
 * take longer to send between threads than to sum.
 */
export interface UsageColumns {
  /** `groupKey` of each row. */
  keys: string[];
  /** Figures of each row, in the order of `figureNames`. */
  figures: Float64Array;
  /** Nano-dollars of each row, up to 9 billion dollars. */
  amounts: BigInt64Array;
}

/** Sums of a part of the usage; a group may occur in several parts. */
export interface UsagePart {
  columns: UsageColumns[];
  /** Null after the last part. */
  next: UsageCursor | null;
}

/** Start of a part; only the store knows its values. */
export type UsageCursor = readonly (string | number)[];

/** Rows, each made when it is read. */
export interface UsageRows extends Iterable<UsageRow> {
  readonly length: number;
  slice(start?: number, end?: number): UsageRow[];
}

export interface UsageReport {
  /** Sorted by group values. */
  rows: UsageRows;
  /** Sum over all pages; null after the first page. */
  total: UsageSum | null;
  hasMore: boolean;
}

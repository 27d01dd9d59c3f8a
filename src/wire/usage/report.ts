import { dayMs, isoSeconds, utcDay } from '../../base/clock.ts';
import { csvRecord, withoutFormula } from '../../base/csv-record.ts';
import { words } from '../../base/words.ts';
import type { SpentBudget } from '../../core/budget.ts';
import { invalid } from '../../core/errors.ts';
import { formatDollars } from '../../core/price.ts';
import { budgetSettings } from '../../core/settings.ts';
import {
  groupMembers,
  hourlyDays,
  type UsageGroup,
  usageGroups,
  type UsageQuery,
  type UsageReport,
  type UsageRow,
  type UsageSum,
} from '../../core/usage-report.ts';
import { quoted } from '../json/parse.ts';
import { nullable } from '../shared/instant.ts';
import type { ListBody } from '../shared/list-body.ts';
import { pageParams, type Query, textParam } from '../shared/query-params.ts';

export const usageLimits = { max: 10_000, default: 1_000 } as const;
const days = { max: 366, default: 30 } as const;

/** Reads the query of `GET /v1/usage`. @throws ApiError `validation_error` */
export function parseUsageQuery(query: Query, now: number): UsageQuery {
  // An empty value, as from an unset variable in a script, would sum more than intended.
  for (const [name, value] of Object.entries(query))
    if (value === '') throw invalid(name, 'must not be empty; leave it out for the default');
  const groups = groupsParam(query);
  const last = dayParam(query, 'end') ?? Math.floor(now / dayMs) * dayMs;
  const first = dayParam(query, 'start') ?? last - (days.default - 1) * dayMs;
  if (first > last) throw invalid('start', `${utcDay(first)} is after end, which is ${utcDay(last)}`);
  if (last - first >= days.max * dayMs)
    throw invalid('start', `expected at most ${days.max} days up to end, which is ${utcDay(last)}`);
  if (groups.includes('hour')) requireHourly('start', first, now);
  const orgId = textParam(query, 'org_id');
  const { limit, after } = pageParams(query, usageLimits, (id) => valuesOf(id)?.length === groups.length);
  return {
    start: utcDay(first),
    before: utcDay(last + dayMs),
    groups,
    limit,
    ...(orgId !== undefined && { orgId }),
    ...(after !== undefined && { after: valuesOf(after)! }),
  };
}

/** @throws ApiError `validation_error` if usage from `ms` on is only known by the day */
export function requireHourly(param: string, ms: number, now: number): void {
  const first = utcDay(now - hourlyDays * dayMs);
  if (utcDay(ms) >= first) return;
  throw invalid(
    param,
    `usage by the hour is kept for ${hourlyDays} days, from ${first} on; use a later ${param}, or days`,
  );
}

/** Start of a day, in epoch milliseconds. */
function dayParam(query: Query, name: string): number | undefined {
  const text = textParam(query, name);
  if (text === undefined) return undefined;
  const date = new Date(text);
  // Date accepts 31 February as a day in March.
  if (date.toJSON()?.slice(0, 10) === text) return date.getTime();
  throw invalid(name, `expected a day (UTC) such as 2026-11-21, got ${quoted(text)}`);
}

function groupsParam(query: Query): UsageQuery['groups'] {
  const text = textParam(query, 'group_by') ?? 'day,model';
  const names = text.split(',');
  const groups = [...new Set(names)].flatMap((name) => usageGroups.find((group) => group === name) ?? []);
  if (groups.length === names.length) return groups;
  throw invalid(
    'group_by',
    `expected any of ${usageGroups.join(', ')}, separated by commas and each at most once; got ${quoted(text)}`,
  );
}

/** The id of a row consists of its group values: `2026-11-21,qwen3-32b`. */
export function usageRowId({ groupValues }: Pick<UsageRow, 'groupValues'>): string {
  return groupValues.map(encodeURIComponent).join(',');
}

/** Group values of an id; undefined if it is invalid or contains a NUL, which no database stores. */
function valuesOf(id: string): string[] | undefined {
  try {
    const values = id.split(',').map(decodeURIComponent);
    return values.some((value) => value.includes('\0')) ? undefined : values;
  } catch {
    return undefined;
  }
}

/** Members with the names of orgs and keys. */
const namedAs = { org: 'org', key: 'key_name' } as const;

/** Members of a sum in the order of a table's columns. */
const figures = words(
  'requests input_tokens cached_tokens output_tokens amount reasoning_tokens cache_write_tokens',
);

function presentSum(sum: UsageSum) {
  return {
    requests: sum.requests,
    input_tokens: sum.inputTokens,
    cached_tokens: sum.cachedTokens,
    cache_write_tokens: sum.cacheWriteTokens,
    output_tokens: sum.outputTokens,
    reasoning_tokens: sum.reasoningTokens,
    amount: formatDollars(sum.amount),
  };
}

/** Columns of a group: its value and, for an org or a key, its name. */
const columnsOf = (group: UsageGroup) =>
  group === 'org' || group === 'key' ? [groupMembers[group], namedAs[group]] : [groupMembers[group]];

type Column = (typeof groupMembers)[UsageGroup] | (typeof namedAs)[keyof typeof namedAs];

/** Report with the names of its orgs and keys, by id. */
export interface NamedReport extends UsageReport {
  budgets: readonly SpentBudget[];
  /** Null for all orgs. */
  orgId: string | null;
  names: ReadonlyMap<string, string>;
}

type Groups = UsageQuery['groups'];

export function presentUsageRow(row: UsageRow, groups: Groups, names: NamedReport['names']) {
  return { id: usageRowId(row), ...presentColumns(row, groups, names) };
}

/** Members of a row that a table shows. */
export function presentColumns(row: UsageRow, groups: Groups, names: NamedReport['names']) {
  const group: Partial<Record<Column, string | null>> = {};
  // Single requests have no batch, and most no tag.
  for (const [n, name] of groups.entries()) {
    const value = shownValue(name, row.groupValues[n]!) || null;
    group[groupMembers[name]] = value;
    if (name === 'org' || name === 'key') group[namedAs[name]] = names.get(value ?? '') ?? null;
  }
  return { ...group, ...presentSum(row) };
}

/** Members of the body in addition to those of a list. */
export function presentUsageTotals(
  { total, budgets, orgId, names }: Omit<NamedReport, 'rows' | 'hasMore'>,
  { start, before, groups }: UsageQuery,
) {
  const end = utcDay(Date.parse(before) - dayMs);
  const scope = { org_id: orgId, org: names.get(orgId ?? '') ?? null };
  const sums = {
    total: total && presentSum(total),
    budgets: budgets.map((budget) => presentBudget(budget, names)),
  };
  return { start, end, group_by: groups, ...scope, currency: 'USD', ...sums };
}

function presentBudget(
  { orgId, keyId, spent, usedUpAt, ...budget }: SpentBudget,
  names: NamedReport['names'],
) {
  return {
    org_id: orgId,
    org: names.get(orgId) ?? null,
    key_id: keyId,
    key_name: names.get(keyId ?? '') ?? null,
    ...budgetSettings(budget),
    spent: formatDollars(BigInt(spent)),
    reached_at: nullable(isoSeconds)(usedUpAt),
  };
}

/** Hours as an instant, the first of the day for usage that is known only by the day. */
function shownValue(group: UsageGroup, value: string): string {
  return group === 'hour' ? `${value.padEnd(13, 'T00')}:00:00Z` : value;
}

type ShownRow = ReturnType<typeof presentUsageRow>;
export type ShownUsage = ListBody<ShownRow> & ReturnType<typeof presentUsageTotals>;

/** Names of the columns of a table. */
export function usageColumns(groups: Groups) {
  return [...groups.flatMap(columnsOf), ...figures];
}

/** Rows of a table. */
export function usageCells(data: readonly Omit<ShownRow, 'id'>[], groups: Groups): (string | number)[][] {
  const columns = usageColumns(groups);
  return data.map((row) => columns.map((column) => row[column] ?? ''));
}

/** Lines of a table as CSV. */
export function usageCsv(cells: readonly (readonly (string | number)[])[]): string {
  return cells.map((row) => csvRecord(row.map(withoutFormula))).join('');
}

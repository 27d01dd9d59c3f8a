import { groupMembers } from '../../../../src/core/usage-report.ts';
import type { Item } from '../../api/client.ts';
import type { Group, Measure } from './search.ts';

/** Row of `GET /v1/usage`, as far as the screen reads it. */
export type UsageRow = Omit<Item<'/v1/usage'>, 'id' | 'hour' | 'cache_write_tokens' | 'reasoning_tokens'>;

/** Sum of one group. */
export interface GroupSum {
  /** Empty for usage without a value, such as single requests by batch. */
  id: string;
  label: string;
  requests: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Nano-dollars: whole numbers, so that sums are exact. */
  nano: number;
}

/** Nano-dollars of a decimal amount in USD. */
export function toNano(amount: string): number {
  const [dollars = '', fraction = ''] = amount.split('.');
  return Number(dollars) * 1e9 + Number(fraction.slice(0, 9).padEnd(9, '0'));
}

/** Decimal amount in USD. */
export function fromNano(nano: number): string {
  const text = String(Math.abs(nano)).padStart(10, '0');
  const fraction = text.slice(-9).replace(/0+$/, '');
  return `${nano < 0 ? '-' : ''}${text.slice(0, -9)}${fraction && `.${fraction}`}`;
}

/** Sums by group, the most expensive first. */
export function sumGroups(rows: readonly UsageRow[], by: Group): GroupSum[] {
  const sums = new Map<string, GroupSum>();
  for (const row of rows) {
    const id = idOf(row, by);
    const sum = sums.get(id) ?? { ...noUsage, id, label: labelOf(row, by) };
    sums.set(id, sum);
    sum.requests += row.requests;
    sum.inputTokens += row.input_tokens;
    sum.cachedTokens += row.cached_tokens;
    sum.outputTokens += row.output_tokens;
    sum.nano += toNano(row.amount);
  }
  return [...sums.values()].toSorted((a, b) => b.nano - a.nano || b.requests - a.requests);
}

const noUsage = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, nano: 0 };

/** One colour of the chart: a value for each day. */
export interface Series {
  id: string;
  label: string;
  values: number[];
}

/** Values by day of the largest groups, and of all others together. */
export function toSeries(
  rows: readonly UsageRow[],
  { by, show, days, limit }: { by: Group; show: Measure; days: readonly string[]; limit: number },
): Series[] {
  const at = new Map(days.map((day, index) => [day, index]));
  const series = new Map<string, Series>();
  for (const row of rows) {
    const index = at.get(row.day ?? '');
    if (index === undefined) continue;
    const id = idOf(row, by);
    const one = series.get(id) ?? { id, label: labelOf(row, by), values: days.map(() => 0) };
    series.set(id, one);
    one.values[index]! += valueOf(row, show);
  }
  const all = [...series.values()].toSorted((a, b) => total(b) - total(a));
  const rest = all.splice(all.length > limit ? limit - 1 : limit);
  if (rest.length === 0) return all;
  const values = days.map((_, index) => rest.reduce((sum, each) => sum + each.values[index]!, 0));
  return [...all, { id: 'others', label: `${rest.length} others`, values }];
}

function valueOf(row: UsageRow, show: Measure): number {
  if (show === 'amount') return Number(row.amount);
  return show === 'requests' ? row.requests : row.input_tokens + row.output_tokens;
}

export function total({ values }: Pick<Series, 'values'>): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function idOf(row: UsageRow, by: Group): string {
  return row[groupMembers[by]] ?? '';
}

const withoutValue: Readonly<Partial<Record<Group, string>>> = {
  key: 'Without a key',
  endpoint: 'Unknown endpoint',
  batch: 'Single requests',
  tag: 'Without a tag',
};

function labelOf(row: UsageRow, by: Group): string {
  const id = idOf(row, by);
  if (id === '') return withoutValue[by] ?? '–';
  return (by === 'org' && row.org) || (by === 'key' && row.key_name) || id;
}

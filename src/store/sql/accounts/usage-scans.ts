import { dayMs, utcDay } from '../../../base/clock.ts';
import type { UsageQuery } from '../../../core/usage-report.ts';

/** Sums by day or month of an org, or by day of all orgs. */
export type SumLevel = 'day' | 'month' | 'all';

/** Sums of these days or months. */
export interface SumScan {
  level: SumLevel;
  spans: string[];
}

/**
 * Sums that answer a query, together with the ledger rows that are not in the sums; null if only the ledger has the groups. Of all that
 * would do, those with the fewest rows: days of all orgs, or the whole months of orgs with the days around them.
 */
export function scansOf({ start, before, groups, orgId, filter }: UsageQuery): SumScan[] | null {
  if (groups.includes('hour') || groups.includes('batch')) return null;
  const days = daysOf(start, before);
  const ofOwner = orgId !== undefined || filter?.orgs !== undefined || filter?.keys !== undefined;
  if (!ofOwner && !groups.some((group) => group === 'org' || group === 'key' || group === 'tag'))
    return [{ level: 'all', spans: days }];
  if (groups.includes('day')) return [{ level: 'day', spans: days }];
  const months = Map.groupBy(days, (day) => day.slice(0, 7));
  const isWhole = (month: string) => months.get(month)!.length === daysIn(month);
  const scans: SumScan[] = [
    { level: 'month', spans: [...months.keys()].filter(isWhole) },
    { level: 'day', spans: days.filter((day) => !isWhole(day.slice(0, 7))) },
  ];
  return scans.filter(({ spans }) => spans.length > 0);
}

function daysOf(start: string, before: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(start), end = Date.parse(before); at < end; at += dayMs) days.push(utcDay(at));
  return days;
}

/** Number of days of a month such as `2026-02`. */
function daysIn(month: string): number {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number, 0)).getUTCDate();
}

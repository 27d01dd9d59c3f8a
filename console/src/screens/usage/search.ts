import { dayMs, utcDay } from './days.ts';

/** Days before the last one that a report shows at most. */
const maxDays = 366;

export const ranges = ['7d', '30d', '90d', 'month', 'last-month'] as const;
export type Range = (typeof ranges)[number];

export const groups = ['model', 'org', 'key', 'endpoint', 'batch', 'tier', 'tag'] as const;
export type Group = (typeof groups)[number];

export const measures = ['amount', 'requests', 'tokens'] as const;
export type Measure = (typeof measures)[number];

/** State that a link to the screen shares. */
export interface UsageSearch {
  /** `30d` if absent. */
  range?: Range;
  /** First and last UTC day, both or none, in place of a range. */
  from?: string;
  to?: string;
  /** `model` if absent. */
  by?: Group;
  /** `amount` if absent. */
  show?: Measure;
  /** Id of an org, for those who see all orgs. */
  org?: string;
}

/** Reads the search parameters of the address, and leaves out the defaults. */
export function usageSearch(search: Record<string, unknown>): UsageSearch {
  const range = ranges.find((each) => each === search['range']);
  const by = groups.find((each) => each === search['by']);
  const show = measures.find((each) => each === search['show']);
  const org = search['org'];
  const days = chosenDays(search['from'], search['to']);
  return {
    ...days,
    ...(range && range !== '30d' && !days && { range }),
    ...(by && by !== 'model' && { by }),
    ...(show && show !== 'amount' && { show }),
    ...(typeof org === 'string' && org !== '' && { org }),
  };
}

/** Two days in their order, of which the first is at most a year before the last; undefined for anything else. */
function chosenDays(from: unknown, to: unknown): Record<'from' | 'to', string> | undefined {
  if (!isDay(from) || !isDay(to)) return undefined;
  const [first, last] = from <= to ? [from, to] : [to, from];
  const earliest = utcDay(Date.parse(last) - maxDays * dayMs);
  return { from: first < earliest ? earliest : first, to: last };
}

function isDay(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value));
}

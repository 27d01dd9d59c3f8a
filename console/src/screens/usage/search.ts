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
  return {
    ...(range && range !== '30d' && { range }),
    ...(by && by !== 'model' && { by }),
    ...(show && show !== 'amount' && { show }),
    ...(typeof org === 'string' && org !== '' && { org }),
  };
}

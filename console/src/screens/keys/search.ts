export const keyFilters = ['usable', 'all'] as const;
export type KeyFilter = (typeof keyFilters)[number];

/** State of the screen that a link shares. */
export interface KeysSearch {
  /** Id of an org. */
  org?: string;
  q?: string;
  /** `usable` if absent: without revoked and expired keys. */
  keys?: KeyFilter;
}

/** Reads the search parameters of the address, and leaves out the default. */
export function keysSearch(search: Record<string, unknown>): KeysSearch {
  const { org, q, keys } = search;
  return {
    ...(typeof org === 'string' && org !== '' && { org }),
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
    ...(keys === 'all' && { keys }),
  };
}

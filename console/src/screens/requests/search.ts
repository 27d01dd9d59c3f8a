/** State that a link to the screen shares. */
export interface RequestsSearch {
  /** Text in an id, model, endpoint, server, key, org or code. */
  q?: string;
  /** `answered`, `failed`, or the code of an error. */
  result?: string;
  model?: string;
  /** Ids. */
  key?: string;
  org?: string;
  /** Id of the request whose details are open. */
  request?: string;
}

const names = ['q', 'result', 'model', 'key', 'org', 'request'] as const;

/** Reads the search parameters of the address. The router reads digits as a number. */
export function requestsSearch(search: Record<string, unknown>): RequestsSearch {
  const read: RequestsSearch = {};
  for (const name of names) {
    const value = search[name];
    if ((typeof value === 'string' && value !== '') || typeof value === 'number') read[name] = String(value);
  }
  return read;
}

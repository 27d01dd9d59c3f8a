/** Requests that a process remembers, and that the screen shows. */
export const remembered = 1_000;

interface RequestLike {
  id: string;
  process: string;
  started_at: string;
}

/** Known and newly read requests, newest first. Those known keep their objects. */
export function mergeRequests<R extends RequestLike>(known: readonly R[], read: readonly R[]): R[] {
  const byId = new Map(read.map((request) => [request.id, request]));
  for (const request of known) byId.set(request.id, request);
  return [...byId.values()]
    .toSorted((a, b) => compare(b.started_at, a.started_at) || compare(b.id, a.id))
    .slice(0, remembered);
}

/** True if requests may lie between those known and the newest ones of a process. */
export function needsAll<R extends RequestLike>(known: readonly R[], newest: readonly R[]): boolean {
  const ids = new Set(known.map(({ id }) => id));
  return newest.length > 0 && !newest.some(({ id }) => ids.has(id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

import { ApiError } from '../core/errors.ts';

/** What one request holds in memory of its body. */
export interface BodyShare {
  /**
   * From now on it holds so many bytes, in place of those before.
   * @throws ApiError `server_overloaded` when there is no room for them
   */
  reserve: (bytes: number) => void;
}

export type BodyBudget = ReturnType<typeof createBodyBudget>;

/**
 * Bounds the bytes of all bodies that are held at a time, whosever they are. An org may hold as much as it leaves free for
 * the others: half of all when it is alone, a third each when they are two. So there is always room for one more.
 */
export function createBodyBudget(capacity: number) {
  const orgs = new Map<string, number>();
  let free = capacity;

  return {
    /** The share of a request of this org. */
    open(orgId: string): BodyShare & { release: () => void } {
      let held = 0;
      const change = (more: number) => {
        const ofOrg = (orgs.get(orgId) ?? 0) + more;
        if (more > 0 && ofOrg > free - more) throw overloaded();
        held += more;
        free -= more;
        if (ofOrg === 0) orgs.delete(orgId);
        else orgs.set(orgId, ofOrg);
      };
      return {
        reserve: (bytes) => change(bytes - held),
        release: () => change(-held),
      };
    },
  };
}

function overloaded(): ApiError {
  return new ApiError(
    'server_overloaded',
    'Too many bytes of requests are being worked on: send this one again in a moment.',
    { retryAfter: 1 },
  );
}

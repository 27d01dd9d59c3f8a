import { ApiError } from '../../core/errors.ts';

/** Memory that one request holds for its body. */
export interface BodyShare {
  /**
   * Sets the number of bytes that the request holds.
   * @throws ApiError `server_overloaded` when they exceed the org's share
   */
  reserve: (bytes: number) => void;
}

export type BodyBudget = ReturnType<typeof createBodyBudget>;

/**
 * Bounds the memory of all request bodies. An org may hold as many bytes as it leaves free: half of all while it is alone,
 * a third while there are two. So a further org always finds room.
 */
export function createBodyBudget(capacity: number) {
  const orgs = new Map<string, number>();
  let free = capacity;

  return {
    open(orgId: string): BodyShare & { release: () => void } {
      let held = 0;
      const change = (more: number) => {
        const ofOrg = (orgs.get(orgId) ?? 0) + more;
        if (more > 0 && ofOrg > free - more)
          throw new ApiError(
            'server_overloaded',
            'The server is busy with other large requests. Send this one again in a moment.',
            { retryAfter: 1 },
          );
        held += more;
        free -= more;
        if (ofOrg === 0) orgs.delete(orgId);
        else orgs.set(orgId, ofOrg);
      };
      return { reserve: (bytes) => change(bytes - held), release: () => change(-held) };
    },
  };
}

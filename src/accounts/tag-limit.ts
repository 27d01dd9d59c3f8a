/** Tags of an org in an hour that are kept apart by a process. */
const maxTags = 100;
/** Tag of the others, so that a tag for each request does not make a ledger row for each request. */
export const otherTag = '(other)';

/** Limits the number of different tags in the ledger. */
export function createTagLimit(max = maxTags) {
  let hour = '';
  let seen = new Map<string, Set<string>>();
  return {
    /** Returns the tag under which a request is booked. */
    admit(orgId: string, now: string, tag: string): string {
      if (tag === '') return tag;
      if (now !== hour) [hour, seen] = [now, new Map()];
      let ofOrg = seen.get(orgId);
      if (!ofOrg) seen.set(orgId, (ofOrg = new Set()));
      if (ofOrg.has(tag)) return tag;
      if (ofOrg.size >= max) return otherTag;
      ofOrg.add(tag);
      return tag;
    },
  };
}

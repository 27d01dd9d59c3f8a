/**
 * Org for which a store operation is called: its first argument is the id of the org, or contains it. Other calls, such as those that look
 * keys up or record results of several orgs, have the owner ''.
 */
export function callOwner([first]: readonly unknown[]): string {
  if (typeof first === 'string') return first.startsWith('org_') ? first : '';
  const { orgId } = (first ?? {}) as { orgId?: unknown };
  return typeof orgId === 'string' ? orgId : '';
}

import type { Log } from '../base/log.ts';
import { defaultScopes, type Org, type KeyScope } from '../core/org.ts';
import type { Accounts } from './accounts.ts';
import { hashKey, keyPrefix } from './keys.ts';
import { createOrg, type IssuerDeps, issueKey } from './orgs.ts';

/** Keys given by environment: at least 32 characters each, and not the same one twice. */
export interface EnvironmentKeys {
  apiKey?: string;
  adminKey?: string;
}

const minimumLength = 32;

/** @throws Error with what to do, for the person who starts the server */
export function checkEnvironmentKeys({ apiKey, adminKey }: EnvironmentKeys): void {
  for (const [name, key] of Object.entries({ apiKey, adminKey })) {
    if (key === undefined) continue;
    const fault =
      key.length < minimumLength
        ? 'is too short'
        : /^[\x21-\x7e]+$/.test(key)
          ? null
          : 'has other characters than visible ASCII';
    if (fault)
      throw new Error(
        `The ${name} given by environment ${fault}: it needs ${minimumLength} visible ASCII characters or more.`,
      );
  }
  if (apiKey !== undefined && apiKey === adminKey)
    throw new Error(
      'The apiKey and the adminKey given by environment are the same: an admin key must be one of its own.',
    );
}

/** What the two first keys may do. The admin key administers and nothing else. */
const roles: Record<keyof EnvironmentKeys, { name: string; scopes: readonly KeyScope[] }> = {
  apiKey: { name: 'first key', scopes: defaultScopes },
  adminKey: { name: 'first admin key', scopes: ['admin'] },
};

/** Makes sure that the org `default` is there, with the keys given by environment: on every start, before anybody asks. */
export async function ensureGiven(issuing: IssuerDeps & { log: Log }, given: EnvironmentKeys): Promise<void> {
  const org = await defaultOrg(issuing);
  for (const role of ['apiKey', 'adminKey'] as const)
    if (given[role] !== undefined) await ensure(issuing, org, role, given[role]);
}

/**
 * Makes sure that somebody can use this server (api.md, section 8; reliability.md, C19): a key of each kind that is neither
 * given nor there yet, to be shown once.
 * @returns the keys made now; null when none was
 */
export async function makeFirstKeys(
  issuing: IssuerDeps,
  given: EnvironmentKeys,
): Promise<Accounts['firstKeys']> {
  const org = await defaultOrg(issuing);
  // A key of another form came by environment and counts only while it is given.
  const existing = (await issuing.store.keys.list()).filter((key) => key.prefix.startsWith(keyPrefix));
  const made: Record<keyof EnvironmentKeys, string | null> = { apiKey: null, adminKey: null };
  for (const role of ['apiKey', 'adminKey'] as const) {
    const isThere = existing.some((key) => key.scopes.includes('admin') === (role === 'adminKey'));
    if (given[role] === undefined && !isThere) made[role] = (await issue(issuing, org, role)).key;
  }
  return made.apiKey || made.adminKey ? { key: made.apiKey, adminKey: made.adminKey } : null;
}

/** The oldest org. Two processes that start on one empty database agree on it, because both look again. */
async function defaultOrg(issuing: IssuerDeps): Promise<Org> {
  const [known] = await issuing.store.orgs.list();
  if (known) return known;
  const made = await createOrg(issuing, 'default');
  const [oldest = made] = await issuing.store.orgs.list();
  return oldest;
}

function issue(issuing: IssuerDeps, org: Org, role: keyof EnvironmentKeys, secret?: string) {
  const { name, scopes } = roles[role];
  return issueKey(issuing, { orgId: org.id, name, scopes: [...scopes] }, secret);
}

async function ensure(
  issuing: IssuerDeps & { log: Log },
  org: Org,
  role: keyof EnvironmentKeys,
  secret: string,
) {
  const { apiKey } = await issue(issuing, org, role, secret);
  if (apiKey) return;
  const known = await issuing.store.keys.findByHash(hashKey(secret));
  if (known && known.revokedAt !== null)
    issuing.log.warn(
      { key: known.id },
      `the ${role} given by environment was revoked and stays so; give another one`,
    );
  else if (known && known.scopes.includes('admin') !== (role === 'adminKey'))
    issuing.log.warn(
      { key: known.id },
      `the ${role} given by environment is known with other scopes and keeps those`,
    );
}

import type { Log } from '../base/log.ts';
import { serverActor } from '../core/audit.ts';
import { defaultScopes, isExpired, type Org, type KeyScope } from '../core/org.ts';
import type { Accounts } from './accounts.ts';
import { hashKey, keyPrefix } from './keys.ts';
import { createOrg, type IssuerDeps, issueKey } from './orgs.ts';

/** Keys set by the environment or the configuration: different from each other, at least 32 characters each. */
export interface EnvironmentKeys {
  apiKey?: string;
  adminKey?: string;
}

const minimumLength = 32;

/** @throws Error whose message says what the operator must change */
export function checkEnvironmentKeys({ apiKey, adminKey }: EnvironmentKeys): void {
  for (const [name, key] of Object.entries({ apiKey, adminKey })) {
    if (key === undefined) continue;
    const isTooShort = key.length < minimumLength;
    const fault = isTooShort ? 'is too short' : 'has invalid characters';
    if (isTooShort || !/^[\x21-\x7e]+$/.test(key))
      throw new Error(
        `The ${name} given by environment ${fault}: use at least ${minimumLength} printable ASCII characters without spaces.`,
      );
  }
  if (apiKey !== undefined && apiKey === adminKey)
    throw new Error(
      'The apiKey and the adminKey given by environment are the same: use a different key as the admin key.',
    );
}

/** Names and scopes of the two first keys. The admin key has the scope `admin` alone. */
const roles: Record<keyof EnvironmentKeys, { name: string; scopes: readonly KeyScope[] }> = {
  apiKey: { name: 'first key', scopes: defaultScopes },
  adminKey: { name: 'first admin key', scopes: ['admin'] },
};

/** Creates the org `default` and the keys set by the environment where they are missing. Runs at every start, before requests. */
export async function ensureEnvironmentKeys(issuing: IssuerDeps & { log: Log }, given: EnvironmentKeys) {
  const org = await defaultOrg(issuing);
  for (const role of ['apiKey', 'adminKey'] as const)
    if (given[role] !== undefined) await ensure(issuing, org, role, given[role]);
}

/**
 * Creates a key and an admin key where neither the environment nor the store has one.
 * @returns the new keys, to be shown once; null if both existed
 */
export async function makeFirstKeys(
  issuing: IssuerDeps,
  given: EnvironmentKeys,
): Promise<Accounts['firstKeys']> {
  const org = await defaultOrg(issuing);
  // Keys of another form came from the environment, and count only while it sets them.
  const existing = (await issuing.store.keys.list()).filter((key) => key.prefix.startsWith(keyPrefix));
  const made: Record<keyof EnvironmentKeys, string | null> = { apiKey: null, adminKey: null };
  for (const role of ['apiKey', 'adminKey'] as const) {
    const isThere = existing.some((key) => key.scopes.includes('admin') === (role === 'adminKey'));
    if (given[role] === undefined && !isThere) made[role] = (await issue(issuing, org, role)).key;
  }
  return made.apiKey || made.adminKey ? { key: made.apiKey, adminKey: made.adminKey } : null;
}

/** Returns the oldest org. Two processes that start on an empty database agree on it, because both read again. */
async function defaultOrg(issuing: IssuerDeps): Promise<Org> {
  const [known] = await issuing.store.orgs.list();
  if (known) return known;
  const made = await createOrg(issuing, serverActor, { name: 'default' });
  const [oldest = made] = await issuing.store.orgs.list();
  return oldest;
}

function issue(issuing: IssuerDeps, org: Org, role: keyof EnvironmentKeys, secret?: string) {
  const { name, scopes } = roles[role];
  return issueKey(issuing, serverActor, { orgId: org.id, name, scopes: [...scopes] }, secret);
}

async function ensure(
  issuing: IssuerDeps & { log: Log },
  org: Org,
  role: keyof EnvironmentKeys,
  secret: string,
) {
  if ((await issue(issuing, org, role, secret)).apiKey) return;
  const hash = hashKey(secret);
  const known = (await issuing.store.keys.findByHashes([hash])).get(hash);
  if (!known) return;
  const warn = (text: string) =>
    issuing.log.warn({ key: known.id }, `the ${role} given by environment ${text}`);
  const otherwise = 'or set a new key of at least 32 characters';
  if (known.revokedAt !== null) warn('was revoked, so that requests with it are refused: set a new key');
  else if (known.disabledAt !== null)
    warn(
      `is disabled, so that requests with it are refused: run "offpeak keys enable ${known.id}" with another admin key, ${otherwise}`,
    );
  else if (isExpired(known, issuing.clock.now()))
    warn(
      `has expired, so that requests with it are refused: run "offpeak keys update ${known.id} --expires never" with another admin key, ${otherwise}`,
    );
  else if (known.scopes.includes('admin') !== (role === 'adminKey'))
    warn('exists with other scopes and keeps them');
}

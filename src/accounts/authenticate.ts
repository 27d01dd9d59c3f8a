import type { Clock } from '../base/clock.ts';
import { ApiError } from '../core/errors.ts';
import { type Caller, hasScope, isExpired, type KeyScope } from '../core/org.ts';
import type { Accounts, KeyHeaders } from './accounts.ts';
import type { KeyCache, KnownKey } from './key-cache.ts';
import { hashKey, isKey } from './keys.ts';

const unauthorized = (message: string) => new ApiError('invalid_api_key', message);

/**
 * Returns the key in `Authorization: Bearer`, which wins over another header when both are sent.
 * @throws ApiError `duplicate_authorization`, `invalid_api_key`
 */
function tokenOf({ authorization, xApiKey, instead }: KeyHeaders): string {
  const [header] = authorization;
  if (authorization.length > 1) throw sentTwice('Authorization');
  if (header !== undefined || !instead) return bearerToken(header, xApiKey);
  const { name, values } = instead;
  const [key] = values;
  if (values.length > 1) throw sentTwice(name);
  if (key === undefined)
    throw unauthorized(`No API key: send "${name}: <key>" or "Authorization: Bearer <key>".`);
  return key.trim();
}

function sentTwice(name: string): ApiError {
  return new ApiError('duplicate_authorization', `${name} was sent more than once: send it once.`);
}

function bearerToken(header: string | undefined, xApiKey: string[]): string {
  if (header === undefined && xApiKey.length > 0)
    throw unauthorized(
      'x-api-key is not accepted here: send the key as "Authorization: Bearer <key>". Set ' +
        'ANTHROPIC_AUTH_TOKEN in the environment of Claude Code, authToken (JavaScript) or auth_token (Python) in Anthropic ' +
        'SDKs, authToken in the Vercel AI SDK, extra_headers in LiteLLM, authHeader: true in pi, or a custom header in ' +
        'most others; docs/clients.md lists them.',
    );
  if (header === undefined) throw unauthorized('No API key: send "Authorization: Bearer <key>".');
  const token = /^Bearer +([^\s]+)$/i.exec(header.trim())?.[1];
  if (token === undefined) throw unauthorized('Authorization must be "Bearer <key>".');
  return token;
}

/** Key with the hash by which a session finds it again. */
export interface AuthenticatedKey {
  caller: Caller;
  keyHash: string;
  /** True if the environment or the configuration sets the key. */
  isConfigured: boolean;
}

export type KeyCheck = ReturnType<typeof createKeyCheck>;

/**
 * Checks keys.
 * @param environmentHashes hashes of the keys set by the environment, which may have any form
 * @param used called with the id of each accepted key
 */
export function createKeyCheck(deps: {
  clock: Clock;
  cache: KeyCache;
  environmentHashes: ReadonlySet<string>;
  used: (keyId: string) => void;
}) {
  const { clock, cache, environmentHashes, used } = deps;

  /** @throws ApiError `invalid_api_key`, `org_disabled` */
  async function byToken(token: string): Promise<AuthenticatedKey> {
    const keyHash = hashKey(token);
    const isConfigured = environmentHashes.has(keyHash);
    const key = isConfigured || isKey(token) ? await cache.find(keyHash) : undefined;
    return { caller: toCaller(key), keyHash, isConfigured };
  }

  /** Caller of a key that was accepted before. */
  async function byHash(keyHash: string, isConfigured: boolean): Promise<Caller> {
    return toCaller(isConfigured && !environmentHashes.has(keyHash) ? undefined : await cache.find(keyHash));
  }

  function toCaller(key: KnownKey | undefined): Caller {
    if (!key) throw unauthorized('Unknown API key.');
    if (key.revokedAt !== null) throw unauthorized('This API key was revoked.');
    if (isExpired(key, clock.now())) throw unauthorized('This API key has expired.');
    if (key.disabledAt !== null)
      throw unauthorized('This API key is disabled. An administrator can enable it.');
    used(key.id);
    return {
      orgId: key.orgId,
      keyId: key.id,
      keyFamily: key.family,
      keyName: key.name,
      scopes: scopesOf(key),
      models: key.models,
      limits: { org: key.org.limits, key: key.limits },
      weight: key.org.weight,
      maxPriority: key.maxPriority,
      ...(key.serviceTier !== null && { serviceTier: key.serviceTier }),
    };
  }

  const byHeaders: Accounts['authenticate'] = async (headers) => (await byToken(tokenOf(headers))).caller;

  return { byToken, byHash, byHeaders };
}

/**
 * Returns the scopes of a key. In a disabled org only administration remains, so that an admin can enable the org of its own key:
 * a key that only reads is refused.
 * @throws ApiError `org_disabled`
 */
function scopesOf({ scopes, org }: KnownKey): readonly KeyScope[] {
  if (org.disabledAt === null) return scopes;
  if (scopes.includes('admin')) return ['admin'];
  throw new ApiError('org_disabled', 'The org of this API key is disabled. An administrator can enable it.');
}

/** @throws ApiError `permission_denied` */
export function requireScope(caller: Caller, scope: KeyScope): void {
  const isAllowed =
    hasScope(caller.scopes, scope) || (scope === 'usage' && hasScope(caller.scopes, 'admin:read'));
  if (!isAllowed)
    throw new ApiError('permission_denied', `This key lacks the scope "${scope}". Use a key that has it.`);
}

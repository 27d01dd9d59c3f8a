import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { Actor } from '../core/audit.ts';
import type { Grant } from '../core/grants.ts';
import { invalid, notFound } from '../core/errors.ts';
import { changeLimits } from '../core/limits.ts';
import {
  type ApiKey,
  defaultScopes,
  keyDefaults,
  type NewKey,
  type NewOrg,
  type Org,
  orgDefaults,
} from '../core/org.ts';
import type { Store } from '../store/store.ts';
import { stamp } from './audit.ts';
import { hashKey, makeKey, shownKey } from './keys.ts';

export interface IssuerDeps {
  store: Pick<Store, 'orgs' | 'keys'>;
  clock: Clock;
  random: Random;
  ids: Ids;
}

/** Creates an org. Names need not be unique. */
export async function createOrg({ store, clock, ids }: IssuerDeps, actor: Actor, input: NewOrg) {
  const { name, limits = {}, weight = orgDefaults.weight, disabled = false, budget } = input;
  const now = clock.now();
  const org: Org = {
    id: ids.next('org_'),
    name,
    createdAt: now,
    limits: changeLimits({}, limits),
    weight,
    disabledAt: disabled ? now : null,
  };
  await store.orgs.insert(org, budget ?? undefined, { actor, at: now });
  return org;
}

/** Settings of a new key that bound what it may do. */
export function grantOf(input: NewKey): Grant {
  return {
    scopes: [...new Set(input.scopes ?? defaultScopes)],
    models: input.models ?? null,
    expiresAt: input.expiresAt ?? null,
    limits: changeLimits({}, input.limits ?? {}),
    maxPriority: input.maxPriority ?? keyDefaults.maxPriority,
    budget: input.budget ?? null,
  };
}

/**
 * Stores a key under its hash.
 * @param secret a key set by the environment; by default a new one is generated
 * @returns `apiKey: null` if the store has that secret already
 */
export async function issueKey(
  { store, clock, random, ids }: IssuerDeps,
  actor: Actor,
  input: NewKey,
  secret = makeKey(random),
): Promise<{ apiKey: ApiKey | null; key: string }> {
  const apiKey: ApiKey = {
    id: ids.next('key_'),
    orgId: input.orgId,
    family: null,
    replacedBy: null,
    name: input.name ?? '',
    prefix: shownKey(secret),
    createdAt: clock.now(),
    revokedAt: null,
    lastUsedAt: null,
    disabledAt: null,
    serviceTier: input.serviceTier ?? keyDefaults.serviceTier,
    ...grantOf(input),
  };
  const isNew = await store.keys.insert(apiKey, hashKey(secret), stamp(clock, actor));
  return { apiKey: isNew ? apiKey : null, key: secret };
}

/**
 * Org given by its id or its name.
 * @param param of the request, for the error
 * @throws ApiError `validation_error` for an unknown org and for an ambiguous name
 */
export async function findOrg(
  orgs: Pick<Store['orgs'], 'get' | 'list'>,
  idOrName: string,
  param = 'org',
): Promise<Org> {
  const [org] = await orgsNamed(orgs, idOrName, param);
  if (!org) throw invalid(param, 'there is no org with this id or name');
  return org;
}

/** Id of an org in the path of a request. @throws ApiError as `findOrg`, but `not_found` for an unknown org */
export async function orgIdInPath(
  orgs: Pick<Store['orgs'], 'get' | 'list'>,
  idOrName: string,
): Promise<string> {
  const [org] = await orgsNamed(orgs, idOrName, 'org_id');
  if (!org) throw notFound('org');
  return org.id;
}

/** At most one org. An id takes precedence over a name. */
async function orgsNamed(
  orgs: Pick<Store['orgs'], 'get' | 'list'>,
  idOrName: string,
  param: string,
): Promise<Org[]> {
  const byId = await orgs.get(idOrName);
  if (byId) return [byId];
  const named = (await orgs.list()).filter(({ name }) => name === idOrName);
  if (named.length < 2) return named;
  const ids = named.slice(0, 20).map(({ id }) => id);
  throw invalid(param, `${named.length} orgs have this name; use one of the ids ${ids.join(', ')}`);
}

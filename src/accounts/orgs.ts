import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { Actor } from '../core/audit.ts';
import { invalid, notFound } from '../core/errors.ts';
import { changeLimits } from '../core/limits.ts';
import {
  type ApiKey,
  defaultScopes,
  type KeyChanges,
  keyDefaults,
  type NewKey,
  type NewOrg,
  type Org,
  orgDefaults,
} from '../core/org.ts';
import type { Store } from '../store/store.ts';
import type { Accounts, BudgetedOrg } from './accounts.ts';
import { stamp } from './audit.ts';
import type { Budgets } from './budgets.ts';
import type { DisabledOrgs } from './disabled-orgs.ts';
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
    name: input.name ?? '',
    prefix: shownKey(secret),
    scopes: [...new Set(input.scopes ?? defaultScopes)],
    models: input.models ?? null,
    createdAt: clock.now(),
    expiresAt: input.expiresAt ?? null,
    revokedAt: null,
    lastUsedAt: null,
    disabledAt: null,
    limits: changeLimits({}, input.limits ?? {}),
    maxPriority: input.maxPriority ?? keyDefaults.maxPriority,
  };
  const isNew = await store.keys.insert(apiKey, hashKey(secret), stamp(clock, actor));
  return { apiKey: isNew ? apiKey : null, key: secret };
}

/** @throws ApiError `validation_error` if the org does not exist */
export async function requireOrg(orgs: Pick<Store['orgs'], 'get'>, orgId: string): Promise<void> {
  if (!(await orgs.get(orgId))) throw invalid('org_id', 'there is no such org');
}

function requireFuture({ expiresAt = null }: KeyChanges, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw invalid('expires_at', 'must be in the future');
}

/**
 * Org given by its id or its name.
 * @throws ApiError `validation_error` if there is none, or if several orgs have the name
 */
export async function findOrg(orgs: Pick<Store['orgs'], 'list'>, idOrName: string): Promise<Org> {
  const all = await orgs.list();
  const byId = all.find(({ id }) => id === idOrName);
  const named = byId ? [byId] : all.filter(({ name }) => name === idOrName);
  if (named.length > 1) throw invalid('org', `${named.length} orgs have this name; use the id`);
  if (!named[0]) throw invalid('org', 'there is no org with this id or name');
  return named[0];
}

/** Operations of the admin routes. `changed` is called after an org or a key has changed. */
export function createIssuer(
  issuing: IssuerDeps & { budgets: Pick<Budgets, 'refresh'>; disabledOrgs: Pick<DisabledOrgs, 'refresh'> },
  changed: () => void,
): Pick<Accounts, 'orgs' | 'keys'> {
  const { store, clock } = issuing;
  /** Adds the current budgets, which later requests are checked against as well. */
  const withBudgets = async (orgs: Org[]): Promise<BudgetedOrg[]> => {
    const budgets = new Map((await issuing.budgets.refresh()).map((budget) => [budget.orgId, budget]));
    return orgs.map((org) => ({ ...org, budget: budgets.get(org.id) ?? null }));
  };
  const withBudget = async (org: Org): Promise<BudgetedOrg> => (await withBudgets([org]))[0]!;
  return {
    orgs: {
      create: async (actor, input) => withBudget(await createOrg(issuing, actor, input)),
      async get(id) {
        const org = await store.orgs.get(id);
        if (!org) throw notFound('org');
        return withBudget(org);
      },
      list: async () => withBudgets(await store.orgs.list()),
      find: (idOrName) => findOrg(store.orgs, idOrName),
      async names() {
        return new Map((await store.orgs.list()).map(({ id, name }) => [id, name]));
      },
      async update(actor, id, changes) {
        const org = await store.orgs.update(id, changes, clock.now(), stamp(clock, actor));
        changed();
        if (!org) throw notFound('org');
        if (changes.disabled !== undefined) await issuing.disabledOrgs.refresh();
        return withBudget(org);
      },
    },
    keys: {
      async create(actor, input) {
        await requireOrg(store.orgs, input.orgId);
        requireFuture(input, clock.now());
        const { apiKey, key } = await issueKey(issuing, actor, input);
        if (!apiKey) throw new Error('a generated key exists already: the source of randomness is broken');
        return { apiKey, key };
      },
      async get(id) {
        const apiKey = await store.keys.get(id);
        if (!apiKey) throw notFound('key');
        return apiKey;
      },
      async list(orgId) {
        if (orgId !== undefined) await requireOrg(store.orgs, orgId);
        return store.keys.list(orgId);
      },
      async update(actor, id, changes) {
        requireFuture(changes, clock.now());
        const apiKey = await store.keys.update(id, changes, clock.now(), stamp(clock, actor));
        changed();
        if (!apiKey) throw notFound('key');
        return apiKey;
      },
      async revoke(actor, id) {
        const apiKey = await store.keys.revoke(id, clock.now(), stamp(clock, actor));
        changed();
        if (!apiKey) throw notFound('key');
        return apiKey;
      },
    },
  };
}

import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { Budget } from '../core/budget.ts';
import { invalid, notFound } from '../core/errors.ts';
import { type ApiKey, defaultScopes, keyDefaults, type NewKey, type Org, orgDefaults } from '../core/org.ts';
import type { Store } from '../store/store.ts';
import type { Accounts, BudgetedOrg } from './accounts.ts';
import type { Budgets } from './budgets.ts';
import { hashKey, makeKey, shownKey } from './keys.ts';

export interface IssuerDeps {
  store: Pick<Store, 'orgs' | 'keys'>;
  clock: Clock;
  random: Random;
  ids: Ids;
}

/** Creates an org. Names need not be unique. */
export async function createOrg({ store, clock, ids }: IssuerDeps, name: string, budget?: Budget) {
  const org: Org = { id: ids.next('org_'), name, createdAt: clock.now(), ...orgDefaults };
  await store.orgs.insert(org, budget);
  return org;
}

/**
 * Stores a key under its hash.
 * @param secret a key set by the environment; by default a new one is generated
 * @returns `apiKey: null` if the store has that secret already
 */
export async function issueKey(
  { store, clock, random, ids }: IssuerDeps,
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
    ...keyDefaults,
  };
  const isNew = await store.keys.insert(apiKey, hashKey(secret));
  return { apiKey: isNew ? apiKey : null, key: secret };
}

/** @throws ApiError `validation_error` if the org does not exist */
export async function requireOrg(orgs: Pick<Store['orgs'], 'get'>, orgId: string): Promise<void> {
  if (!(await orgs.get(orgId))) throw invalid('org_id', 'there is no such org');
}

/** Operations of the admin routes. `changed` is called after a key was revoked. */
export function createIssuer(
  issuing: IssuerDeps & { budgets: Pick<Budgets, 'refresh'> },
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
      create: async ({ name, budget }) => withBudget(await createOrg(issuing, name, budget ?? undefined)),
      list: async () => withBudgets(await store.orgs.list()),
      async update(id, changes) {
        const org = await store.orgs.update(id, changes);
        if (!org) throw notFound('org');
        return withBudget(org);
      },
    },
    keys: {
      async create(input) {
        await requireOrg(store.orgs, input.orgId);
        if (input.expiresAt !== undefined && input.expiresAt <= clock.now())
          throw invalid('expires_at', 'must be in the future');
        const { apiKey, key } = await issueKey(issuing, input);
        if (!apiKey) throw new Error('a generated key exists already: the source of randomness is broken');
        return { apiKey, key };
      },
      async list(orgId) {
        if (orgId !== undefined) await requireOrg(store.orgs, orgId);
        return store.keys.list(orgId);
      },
      async revoke(id) {
        const apiKey = await store.keys.revoke(id, clock.now());
        changed();
        if (!apiKey) throw notFound('key');
        return apiKey;
      },
    },
  };
}

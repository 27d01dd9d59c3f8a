import { spenderOf } from '../core/budget.ts';
import { invalid, notFound } from '../core/errors.ts';
import { changeLimits } from '../core/limits.ts';
import { type ApiKey, isExpired, type KeyChanges, type Org } from '../core/org.ts';
import type { Accounts, BudgetedOrg, KeyOfOrg } from './accounts.ts';
import { stamp } from './audit.ts';
import type { Budgets } from './budgets.ts';
import type { DisabledOrgs } from './disabled-orgs.ts';
import { requireGrant } from './grants.ts';
import { notChangeable, notRotatable, requireOtherKey, requireOwnAdmin } from './key-states.ts';
import { hashKey, makeKey, shownKey } from './keys.ts';
import { createOrg, findOrg, grantOf, issueKey, type IssuerDeps, orgIdInPath } from './orgs.ts';

/** Operations of the admin routes. `changed` is called after an org or a key has changed. */
export function createIssuer(
  issuing: IssuerDeps & { budgets: Pick<Budgets, 'refresh'>; disabledOrgs: Pick<DisabledOrgs, 'refresh'> },
  changed: () => void,
): Pick<Accounts, 'orgs' | 'keys'> {
  const { store, clock } = issuing;
  /** Adds the current budgets, which later requests are checked against as well. */
  const withBudgets = async (orgs: Org[]): Promise<BudgetedOrg[]> => {
    const spent = (await issuing.budgets.refresh()).filter(({ keyId }) => keyId === null);
    const budgets = new Map(spent.map((budget) => [budget.orgId, budget]));
    return orgs.map((org) => ({ ...org, budget: budgets.get(org.id) ?? null }));
  };
  const withBudget = async (org: Org): Promise<BudgetedOrg> => (await withBudgets([org]))[0]!;
  /** Adds what a list of keys shows of their orgs and budgets, which later requests are checked against as well. */
  const ofOrgs = async (keys: ApiKey[]): Promise<KeyOfOrg[]> => {
    const names = await store.orgs.names([...new Set(keys.map(({ orgId }) => orgId))]);
    const spent = keys.some(({ budget }) => budget !== null) ? await issuing.budgets.refresh() : [];
    const budgets = new Map(spent.map((budget) => [spenderOf(budget), budget]));
    return keys.map((key) => ({
      ...key,
      orgName: names.get(key.orgId) ?? null,
      spentBudget: budgets.get(key.family ?? key.id) ?? null,
    }));
  };
  const ofOrg = async (key: ApiKey): Promise<KeyOfOrg> => (await ofOrgs([key]))[0]!;
  return {
    orgs: {
      create: async (actor, input) => withBudget(await createOrg(issuing, actor, input)),
      async get(idOrName) {
        const org = await store.orgs.get(await orgIdInPath(store.orgs, idOrName));
        if (!org) throw notFound('org');
        return withBudget(org);
      },
      list: async (page) => withBudgets(await store.orgs.list(page)),
      find: (idOrName, param) => findOrg(store.orgs, idOrName, param),
      async names() {
        return new Map((await store.orgs.list()).map(({ id, name }) => [id, name]));
      },
      async update(actor, idOrName, changes) {
        const id = await orgIdInPath(store.orgs, idOrName);
        const org = await store.orgs.update(id, changes, clock.now(), stamp(clock, actor));
        changed();
        if (!org) throw notFound('org');
        if (changes.disabled !== undefined) await issuing.disabledOrgs.refresh();
        return withBudget(org);
      },
    },
    keys: {
      async create(actor, input) {
        const { id: orgId } = await findOrg(store.orgs, input.orgId, 'org_id');
        requireFuture(input, clock.now());
        await requireGrant(store.keys, actor, grantOf(input));
        const { apiKey, key } = await issueKey(issuing, actor, { ...input, orgId });
        if (!apiKey) throw new Error('a generated key exists already: the source of randomness is broken');
        return { apiKey: await ofOrg(apiKey), key };
      },
      async get(id) {
        const apiKey = await store.keys.get(id);
        if (!apiKey) throw notFound('key');
        return ofOrg(apiKey);
      },
      async list(org, page) {
        const orgId = org === undefined ? undefined : (await findOrg(store.orgs, org, 'org_id')).id;
        return ofOrgs(await store.keys.list(orgId, page));
      },
      async update(actor, id, changes) {
        requireFuture(changes, clock.now());
        const before = await store.keys.get(id);
        if (!before) throw notFound('key');
        const { limits = {}, ...settings } = changes;
        const after = { ...before, ...settings, limits: changeLimits(before.limits, limits) };
        requireOwnAdmin(actor, before, changes);
        // Only what changes counts, but a key that works again counts as a new one.
        const isRevived =
          changes.disabled === false || (changes.expiresAt !== undefined && isExpired(before, clock.now()));
        await requireGrant(store.keys, actor, after, isRevived ? undefined : changes);
        const outcome = await store.keys.update(id, changes, clock.now(), stamp(clock, actor));
        changed();
        if (!outcome) throw notFound('key');
        if ('refused' in outcome) throw notChangeable(outcome.refused);
        if (changes.budget === null) await issuing.budgets.refresh();
        return ofOrg(outcome);
      },
      async rotate(actor, id, overlapMs) {
        const old = await store.keys.get(id);
        if (!old) throw notFound('key');
        await requireGrant(store.keys, actor, old);
        const key = makeKey(issuing.random);
        const next = { id: issuing.ids.next('key_'), prefix: shownKey(key), hash: hashKey(key) };
        const endsAt = overlapMs === 0 ? null : clock.now() + overlapMs;
        const outcome = await store.keys.rotate(id, next, endsAt, stamp(clock, actor));
        changed();
        if (!outcome) throw notFound('key');
        if ('refused' in outcome) throw notRotatable(outcome.refused, clock.now());
        const [apiKey, replaced] = await ofOrgs([outcome.key, outcome.old]);
        return { apiKey: apiKey!, key, replaced: replaced! };
      },
      async revoke(actor, id) {
        requireOtherKey(actor, id);
        const apiKey = await store.keys.revoke(id, clock.now(), stamp(clock, actor));
        changed();
        if (!apiKey) throw notFound('key');
        return ofOrg(apiKey);
      },
    },
  };
}

function requireFuture({ expiresAt = null }: KeyChanges, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw invalid('expires_at', 'must be in the future');
}

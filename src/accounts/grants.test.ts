import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createMemoryStore } from '../../test/support/memory-store.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import { type Actor, serverActor } from '../core/audit.ts';
import { ApiError } from '../core/errors.ts';
import type { Limits } from '../core/limits.ts';
import { type ApiKey, type KeyChanges, type KeyScope, scopes } from '../core/org.ts';
import { createAccounts } from './create-accounts.ts';
import { createScanGate } from '../store/scan-gate.ts';

const clock = createManualClock();
const hour = 3_600_000;
const models = ['m1', 'm2'];

/** Everything that a key may or may not do, one by one: the meaning of its settings, apart from the rule under test. */
function abilitiesOf(key: ApiKey): string[] {
  const { scopes: owned, models: allowed, expiresAt, maxPriority, limits, budget } = key;
  const isAdmin = owned.includes('admin');
  const able: string[] = scopes.filter(
    (scope) => isAdmin || owned.some((each) => each === scope || `${each}:read` === scope),
  );
  for (const model of models) {
    if (allowed === null || allowed.includes(model)) able.push(`use ${model}`);
    for (const tokens of [0, 5, 10, 1e6])
      if ((limits.queuedTokens?.[model] ?? Infinity) > tokens)
        able.push(`queue ${tokens} tokens of ${model}`);
  }
  for (const hours of [1, 2, 3, 1_000])
    if (expiresAt === null || expiresAt > clock.now() + hours * hour) able.push(`live ${hours} h`);
  for (let priority = 0; priority <= maxPriority; priority++) able.push(`ask for priority ${priority}`);
  for (const name of ['requestsPerMinute', 'openBatches'] as const)
    for (const count of [0, 5, 10, 1e6])
      if ((limits[name] ?? Infinity) > count) able.push(`${name} above ${count}`);
  const mostOf = (months: number) =>
    !budget || budget.hard === false ? Infinity : budget.amount * (budget.period === 'month' ? months : 1);
  for (const months of [1, 2])
    for (const amount of [0, 1, 5, 9])
      if (mostOf(months) > amount) able.push(`spend ${amount} in ${months} months`);
  return able;
}

const limit = fc.option(fc.constantFrom(0, 5, 10), { nil: undefined });
const limits = fc.record<Limits>(
  {
    requestsPerMinute: limit,
    openBatches: limit,
    queuedTokens: fc.record({ m1: fc.nat(10), m2: fc.nat(10) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const settings: fc.Arbitrary<KeyChanges> = fc.record(
  {
    scopes: fc.oneof(fc.constant<KeyScope[]>(['admin']), fc.subarray([...scopes], { minLength: 1 })),
    models: fc.option(fc.subarray(models)),
    expiresAt: fc.option(fc.constantFrom(1.5, 2.5).map((hours) => clock.now() + hours * hour)),
    maxPriority: fc.nat(9),
    limits: fc.option(limits),
    budget: fc.option(
      fc.record({
        amount: fc.constantFrom(0, 1, 5),
        period: fc.constantFrom('month' as const, 'total' as const),
        hard: fc.boolean(),
      }),
    ),
  },
  { requiredKeys: [] },
);
const step = fc.record({
  by: fc.nat(),
  what: fc.constantFrom('create' as const, 'update' as const, 'rotate' as const, 'enable' as const),
  target: fc.nat(),
  settings,
});

async function start(given: readonly KeyChanges[]) {
  const store = createMemoryStore({ clock });
  await store.start();
  const ids = createIds(clock, systemRandom);
  const accounts = createAccounts({
    scans: createScanGate(),
    store,
    clock,
    random: systemRandom,
    ids,
    log: silent,
    config: {},
  });
  const org = await accounts.orgs.create(serverActor, { name: 'one' });
  const keys: string[] = [];
  for (const each of given)
    keys.push((await accounts.keys.create(serverActor, { ...each, orgId: org.id })).key);
  /** As the admin routes: authenticates, requires the scope, and passes on the caller. */
  const actorWith = async (key: string): Promise<Actor> => {
    const caller = await accounts.authenticate({ authorization: [`Bearer ${key}`], xApiKey: [] });
    accounts.require(caller, 'admin');
    return { ...serverActor, keyId: caller.keyId };
  };
  return { store, accounts, org, keys, actorWith };
}

describe('a key', () => {
  it('C07: never creates, changes or rotates a key that may do more than it, in any sequence of calls', async () => {
    let granted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(settings, { minLength: 1, maxLength: 4 }),
        fc.array(step, { minLength: 6, maxLength: 12 }),
        async (given, steps) => {
          const { store, accounts, org, keys, actorWith } = await start(given);
          for (const { by, what, target, settings: changes } of steps) {
            const secret = keys[by % keys.length]!;
            const all = await accounts.keys.list();
            const id = all[target % all.length]!.id;
            const before = await accounts.keys.get(id);
            const granter = all.find(({ prefix }) => secret.startsWith(prefix.split('...')[0]!))!;
            const act = async () => {
              const actor = await actorWith(secret);
              if (what === 'create') return accounts.keys.create(actor, { ...changes, orgId: org.id });
              if (what === 'rotate') return accounts.keys.rotate(actor, id, 0);
              const enabling = what === 'enable' ? { disabled: false } : {};
              return {
                apiKey: await accounts.keys.update(actor, id, { ...changes, ...enabling }),
                key: null,
              };
            };
            const made = await act().catch((error: unknown) => {
              if (error instanceof ApiError) return null;
              throw error;
            });
            if (!made) {
              expect(await accounts.keys.get(id)).toEqual(before);
              continue;
            }
            granted++;
            expect(granter.scopes).toContain('admin');
            if (made.key !== null) keys.push(made.key);
            const own = new Set(abilitiesOf(granter));
            // Abilities that the changed key had before are not granted by the change.
            const had = what === 'update' ? abilitiesOf(before) : [];
            const extra = abilitiesOf(made.apiKey).filter((each) => !own.has(each) && !had.includes(each));
            expect(extra).toEqual([]);
          }
          await store.stop();
        },
      ),
      { numRuns: 80 },
    );
    expect(granted).toBeGreaterThan(50);
  });

  it('that exceeds the key of the request is refused, with the setting and the bound', async () => {
    const { accounts, org, keys, actorWith } = await start([
      {
        scopes: ['admin'],
        models: ['m1'],
        expiresAt: clock.now() + hour,
        maxPriority: 3,
        limits: { openBatches: 2, queuedTokens: { m1: 5 } },
        budget: { amount: 5, period: 'month' },
      },
    ]);
    const actor = await actorWith(keys[0]!);
    const bounded = {
      orgId: org.id,
      models: ['m1'],
      expiresAt: clock.now() + hour,
      maxPriority: 3,
      limits: { openBatches: 2, queuedTokens: { m1: 5 } },
      budget: { amount: 5, period: 'total' } as const,
    };
    const { apiKey } = await accounts.keys.create(actor, bounded);
    expect(apiKey.scopes).not.toContain('admin');
    for (const [changes, param] of [
      [{ models: null }, 'models'],
      [{ models: ['m1', 'm2'] }, 'models'],
      [{ expiresAt: null }, 'expires_at'],
      [{ expiresAt: clock.now() + hour + 1 }, 'expires_at'],
      [{ maxPriority: 4 }, 'priority'],
      [{ budget: null }, 'budget'],
      [{ budget: { amount: 6, period: 'month' } }, 'budget'],
      [{ budget: { amount: 5, period: 'month', hard: false } }, 'budget'],
      [{ limits: null }, 'limits.open_batches'],
      [{ limits: { ...bounded.limits, openBatches: 3 } }, 'limits.open_batches'],
      [{ limits: { openBatches: 1, queuedTokens: null } }, 'limits.queued_tokens'],
    ] as [KeyChanges, string][]) {
      const refused = { code: 'permission_denied', status: 403, param };
      await expect(accounts.keys.create(actor, { ...bounded, ...changes })).rejects.toMatchObject(refused);
      await expect(accounts.keys.update(actor, apiKey.id, changes)).rejects.toMatchObject(refused);
      await expect(accounts.keys.update(actor, actor.keyId!, changes)).rejects.toMatchObject(refused);
    }
    expect(await accounts.keys.update(actor, apiKey.id, { name: 'x', maxPriority: 2 })).toMatchObject({
      name: 'x',
      maxPriority: 2,
    });
  });
});

import { describe, expect, test } from 'vitest';
import { createBudgets } from '../../../src/accounts/budgets.ts';
import type { Reservation } from '../../../src/accounts/reservations.ts';
import { silent } from '../../../src/base/log.ts';
import { serverActor } from '../../../src/core/audit.ts';
import type { Batch, Chunk } from '../../../src/core/batch.ts';
import { familyOf } from '../../../src/core/key-family.ts';
import type { ApiKey } from '../../../src/core/org.ts';
import type { Store } from '../../../src/store/store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { createSeededRandom } from '../../support/seeded-random.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, lease, makeKey, makeOrg, output, start } from '../fixtures.ts';

/** Cost of one output of a `makeBatch` batch, in nano-dollars. */
const lineCost = 1_000;
const startBudget = 12 * lineCost;

interface Line {
  batch: Batch;
  line: number;
  reservation: Reservation;
}

/** A process that runs batches as the batch engine does: claims what its budgets allow, and reserves each line that it sends. */
function createProcess(store: Store, worker: string) {
  const clock = createManualClock(start);
  const budgets = createBudgets({ orgs: store.orgs, clock, billingClock: clock, log: silent });
  let chunks: Chunk[] = [];
  const inFlight: Line[] = [];

  return {
    inFlight,
    refresh: () => budgets.refresh(),
    /** Returns the claimed batches that the next look at their states would have it yield. */
    async claim(): Promise<string[]> {
      const suspects = { minKills: 99, max: 0, mayTakeAlone: false };
      const wanted = [{ model: 'm1', names: ['m1'], lines: 0, chunks: 2, claimedDue: {}, moreOrgs: 0 }];
      const options = { now: start, suspects, exhausted: budgets.exhausted() };
      const claimed = await store.batches.claim(worker, wanted, options);
      chunks.push(...claimed.chunks);
      const states = await store.batches.states([...new Set(claimed.batches.map(({ id }) => id))], start);
      return states.filter((state) => state.isBudgetUsedUp).map(({ id }) => id);
    },
    /** Sends up to `count` lines of claimed chunks, and gives back the chunks without room. */
    async send(count: number, batches: ReadonlyMap<string, Batch>, sent: (batch: Batch) => void) {
      for (; count > 0 && chunks.length > 0; count--) {
        const chunk = chunks[0]!;
        const batch = batches.get(chunk.batchId)!;
        if (!budgets.hasRoom(batch)) {
          chunks = chunks.slice(1);
          await store.batches.release(worker, [lease(chunk)]);
          continue;
        }
        const { line } = chunk.lines.shift()!;
        const reservation = budgets.reserve(batch, () => lineCost);
        sent(batch);
        inFlight.push({ batch, line, reservation });
        if (chunk.lines.length === 0) chunks = chunks.slice(1);
      }
    },
    async record() {
      const done = inFlight.splice(0);
      const results = done.map(({ batch, line }) => output(batch, line));
      for (const { reservation } of done) reservation.charge(lineCost);
      const outcomes = await store.results.record(worker, results, [], start);
      for (const { reservation } of done) reservation.settle();
      return outcomes;
    },
  };
}

/** Families of rotated keys while their batches run on two processes. */
export function keyFamilyTests(on: Stores): void {
  describe('families of keys', () => {
    test.each([1, 3, 5, 8])(
      'keep their budget through any rotation, and their batches never flap (seed %i)',
      async (seed) => {
        const random = createSeededRandom(seed);
        const whole = (max: number) => Math.floor(random.float() * max);
        const stamp = { actor: serverActor, at: start };
        await on.store.orgs.insert(makeOrg({ id: 'org_a' }));
        const budget = (amount: number) => ({ amount, period: 'total' as const, hard: true });
        const budgets = new Map<string, number>();
        const spent = new Map<string, number>();
        const batches = new Map<string, Batch>();
        for (const id of ['key_a', 'key_b']) {
          await on.store.keys.insert(makeKey({ id, budget: budget(startBudget) }), id);
          budgets.set(id, startBudget);
        }
        const processes = [createProcess(on.store, 'w1'), createProcess(on.other, 'w2')];
        const familyOfKey = ({ id, family }: ApiKey) => family ?? id;
        let [sends, stops, rotations] = [0, 0, 0];

        const steps: (() => Promise<unknown>)[] = [
          async () => {
            const keys = (await on.store.keys.list()).filter(({ revokedAt }) => revokedAt === null);
            const key = keys[whole(keys.length)];
            if (!key || batches.size > 12) return;
            const batch = await addBatch(on.store, { keyId: key.id, keyFamily: key.family }).catch(
              () => undefined,
            );
            if (batch) batches.set(batch.id, batch);
          },
          async () => {
            const keys = await on.store.keys.list();
            const key = keys[whole(keys.length)]!;
            const next = { id: `key_${seed}_${keys.length}`, prefix: '', hash: `${seed} ${keys.length}` };
            const made = await on.store.keys.rotate(key.id, next, whole(2) ? null : start + 9_000, stamp);
            if (made && 'key' in made) rotations++;
          },
          async () => {
            const keys = await on.store.keys.list();
            if (whole(6) === 0) await on.store.keys.revoke(keys[whole(keys.length)]!.id, start);
          },
          async () => {
            const keys = await on.store.keys.list();
            const key = keys[whole(keys.length)]!;
            const family = familyOfKey(key);
            // Raised, or lowered to less than what is spent.
            const amount = Math.max(0, budgets.get(family)! + (whole(5) - 1) * 3 * lineCost);
            const changed = await on.store.keys.update(key.id, { budget: budget(amount) }, start);
            expect(changed).not.toHaveProperty('refused');
            budgets.set(family, amount);
          },
          async () => {
            const ids = [...batches.keys()];
            if (ids.length > 6)
              await on.store.batches.cancel('org_a', ids[whole(ids.length)]!, start, 60_000);
          },
        ];

        for (let step = 0; step < 90; step++) {
          await steps[whole(whole(2) ? 1 : steps.length)]!();
          const process = processes[whole(2)]!;
          await process.refresh();
          expect(await process.claim()).toEqual([]);
          await process.send(1 + whole(3), batches, (batch) => {
            sends++;
            // Charges in the ledger leave room, so that only requests in flight overshoot.
            expect(spent.get(familyOf(batch)) ?? 0).toBeLessThan(budgets.get(familyOf(batch))!);
          });
          if (whole(2) === 0)
            for (const { batchId, kept } of await process.record()) {
              const family = familyOf(batches.get(batchId)!);
              spent.set(family, (spent.get(family) ?? 0) + kept * lineCost);
            }
          const known = new Map(
            (await on.other.orgs.budgets(start)).map((each) => [each.keyFamily ?? each.keyId!, each]),
          );
          const keys = await on.store.keys.list();
          for (const [family, amount] of budgets) {
            const { key: queued } = await on.store.batches.queued('org_a', family);
            const own = [...batches.values()].filter((batch) => familyOf(batch) === family);
            expect(queued.batches).toBe(own.length);
            const isAlive = keys.some((key) => familyOfKey(key) === family && key.revokedAt === null);
            if (!isAlive && own.length === 0) continue;
            expect(known.get(family)).toMatchObject({ amount, spent: spent.get(family) ?? 0 });
            if (known.get(family)!.spent >= amount) stops++;
          }
        }
        expect(Math.min(sends, stops, rotations)).toBeGreaterThan(0);
      },
    );
  });
}

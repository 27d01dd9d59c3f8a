import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createSeededRandom } from '../../test/support/seeded-random.ts';
import { silent } from '../base/log.ts';
import type { SpentBudget } from '../core/budget.ts';
import { roundCost } from '../core/price.ts';
import type { LedgerEntry } from '../store/contract/accounts.ts';
import { createBudgets } from './budgets.ts';
import { createLedger } from './ledger.ts';

const prices = { input: 333_333, cachedInput: 7, output: 1_777_777 };
const caller = { orgId: 'org_1', keyId: 'key_1' };

/** Random requests, some much dearer than estimated, against a ledger that is slow or unavailable at times. */
async function load(seed: number) {
  const random = createSeededRandom(seed);
  const clock = createManualClock(Date.UTC(2026, 10, 21, 12));
  const whole = (max: number) => Math.floor(random.float() * max);
  /** As in the database, and all charges. */
  const stored = { spent: 0, parts: 0, requests: 0 };
  const made = { nano: 0, requests: 0 };
  let isRunning = false;
  const amount = 20_000 + whole(20_000);
  const budgets = createBudgets({
    clock,
    billingClock: clock,
    log: silent,
    orgs: {
      async budgets(): Promise<SpentBudget[]> {
        const read = {
          orgId: 'org_1',
          keyId: null,
          amount,
          period: 'month',
          spent: stored.spent,
          usedUpAt: null,
        } as const;
        const sleepMs = isRunning && whole(3) === 0 ? whole(400) : 0;
        if (sleepMs > 0) await new Promise<void>((resolve) => void clock.after(sleepMs, resolve));
        return [read];
      },
      noteUsedUp: async () => {},
    },
  });
  const ledger = createLedger({
    clock,
    log: silent,
    writer: 'w',
    isDatabaseDown: async () => true,
    ledger: {
      async add(entries: LedgerEntry[]) {
        const sleepMs = isRunning && whole(3) === 0 ? whole(300) : 0;
        if (sleepMs > 0) await new Promise<void>((resolve) => void clock.after(sleepMs, resolve));
        if (isRunning && whole(10) === 0) throw new Error('away');
        for (const { cost, requests } of entries) {
          stored.parts += cost.parts;
          stored.spent += cost.nano + Math.floor(stored.parts / 1e12);
          stored.parts %= 1e12;
          stored.requests += requests;
        }
      },
    },
  });
  await budgets.start();
  isRunning = true;
  const reserve = (estimate: number) => {
    try {
      return budgets.reserve(caller, () => estimate);
    } catch {
      return undefined;
    }
  };
  const inFlight = new Map<number, { cost: number }>();
  let crossedWith = 0;
  let refused = 0;
  for (let n = 0; n < 3_000; n++) {
    const estimate = whole(200);
    const reservation = reserve(estimate);
    if (!reservation) refused++;
    else {
      // Charges, written or not, leave room.
      expect(made.nano).toBeLessThan(amount);
      const usage = {
        inputTokens: whole(400),
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: whole(300),
        reasoningTokens: 0,
      };
      const cost = (usage.inputTokens * prices.input + usage.outputTokens * prices.output) / 1e6;
      inFlight.set(n, { cost });
      clock.after(whole(500), () => {
        inFlight.delete(n);
        if (whole(20) === 0) return reservation.release();
        if (made.nano < amount && made.nano + cost >= amount)
          crossedWith = cost + [...inFlight.values()].reduce((sum, other) => sum + other.cost, 0);
        made.nano += cost;
        made.requests++;
        ledger.charge({ caller, model: 'm', endpoint: '/v1/x', tag: '', usage, prices, reservation });
      });
    }
    await clock.advance(whole(10));
  }
  isRunning = false;
  for (let second = 0; second < 60; second++) await clock.advance(1_000);
  await budgets.stop();
  const total = roundCost({ nano: stored.spent, parts: stored.parts });
  return { amount, made, stored, total, crossedWith, refused };
}

describe('a budget under random load', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed + 1))(
    'is exceeded by no more than what was in flight, and the ledger has every charge (seed %i)',
    async (seed) => {
      const { amount, made, stored, total, crossedWith, refused } = await load(seed);
      expect(refused).toBeGreaterThan(100);
      expect(made.nano - amount).toBeLessThan(crossedWith);
      expect([stored.requests, total]).toEqual([made.requests, Math.round(made.nano)]);
    },
  );
});

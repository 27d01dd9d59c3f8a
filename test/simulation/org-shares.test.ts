import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { type SingleOptions, startSingle } from './single-process.ts';

const lineMs = 500;
/** Enough of the first org's lines that claims ahead would hold the second up for minutes. */
const lines = 1_500;

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

/** Starts processes with an org for each of the weights; returns the lines done by org. */
async function startOrgs<Name extends string>(options: SingleOptions, weights: Record<Name, number>) {
  const single = await startSingle(database, options);
  for (const [name, weight] of Object.entries<number>(weights))
    await database.db.all('INSERT INTO orgs (id, name, created_at, weight) VALUES (?, ?, 0, ?)', [
      `org_${name}`,
      name,
      weight,
    ]);
  await single.settle(Promise.all(single.all.map((process) => process.start())));
  const names = Object.keys(weights) as Name[];
  return {
    ...single,
    /** Creates a batch of an org. */
    work: (name: Name) => single.create(`b_${name}`, lines, { delayMs: lineMs }, `org_${name}`),
    /** Returns the lines done of each org during the next `ms`. */
    during: async (ms: number): Promise<Record<Name, number>> => {
      const before = await done(names);
      await single.pass(ms);
      const after = await done(names);
      for (const name of names) after[name] -= before[name];
      return after;
    },
  };
}

async function done<Name extends string>(names: Name[]): Promise<Record<Name, number>> {
  const rows = await database.db.all<{ org_id: string; n: number }>(
    'SELECT org_id, sum(ok) AS n FROM batches GROUP BY org_id',
  );
  const of = (name: Name) => rows.find(({ org_id: id }) => id === `org_${name}`)?.n ?? 0;
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>;
}

/** Starts an org whose batch holds all slots when a second org creates one. */
async function startInTurn(options: SingleOptions, weights: { first: number; second: number }) {
  const { work, pass, during } = await startOrgs(options, weights);
  await work('first');
  await pass(5_000);
  await work('second');
  return during;
}

describe('an org that arrives while another holds all slots', () => {
  for (const slots of [1, 2, 3, 6])
    for (const weight of [1, 2, 5])
      it(`gets its share of ${slots} slots at once, at weights of ${weight} to 1`, async () => {
        const during = await startInTurn({ slots }, { first: weight, second: 1 });
        // A turn of the first org, a line's time each for the slots to become free and for the answer, and time to record it.
        const soon = await during((Math.ceil((weight + 1) / slots) + 2) * lineMs + 100);
        expect(soon.second).toBeGreaterThan(0);
        const { first, second } = await during(60_000);
        expect(first + second).toBeGreaterThan((55_000 / lineMs) * slots);
        expect(Math.abs(second - (first + second) / (weight + 1))).toBeLessThanOrEqual(2 * slots);
      });

  it('gets its share of two slots that two processes use', async () => {
    const during = await startInTurn({ slots: 2, processes: 2 }, { first: 2, second: 1 });
    await during(10_000);
    const { first, second } = await during(60_000);
    expect(first / second).toBeGreaterThan(1.8);
    expect(first / second).toBeLessThan(2.3);
  });
});

describe('orgs that begin at the same moment on a process that has run nothing', () => {
  const slots = 4;
  for (const maxTokens of [0, 8, 512, 100_000])
    it(`share the slots from the first line on, at estimates of ${maxTokens} tokens for an answer`, async () => {
      const { work, during } = await startOrgs({ slots, maxTokens }, { first: 1, second: 1, third: 1 });
      await work('first');
      await work('second');
      await work('third');
      // The first org holds all slots, then the others do.
      const soon = await during(2.5 * lineMs);
      expect(Math.min(soon.second, soon.third)).toBeGreaterThan(0);
      const { first, second, third } = await during(30_000);
      expect(first + second + third).toBeGreaterThan((29_000 / lineMs) * slots);
      // The others also make up for the slots that the first org held before.
      expect(Math.max(first, second, third) - Math.min(first, second, third)).toBeLessThanOrEqual(slots + 1);
    });
});

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

/** Starts two orgs with a batch each, the second one later. */
async function startOrgs(options: SingleOptions, weights: { first: number; second: number }) {
  const single = await startSingle(database, options);
  for (const [name, weight] of Object.entries(weights))
    await database.db.all('INSERT INTO orgs (id, name, created_at, weight) VALUES (?, ?, 0, ?)', [
      `org_${name}`,
      name,
      weight,
    ]);
  await single.settle(Promise.all(single.all.map((process) => process.start())));
  await single.create('b0', lines, { delayMs: lineMs }, 'org_first');
  await single.pass(5_000);
  await single.create('b1', lines, { delayMs: lineMs }, 'org_second');
  /** Returns the lines done of each org during the next `ms`. */
  return async (ms: number): Promise<{ first: number; second: number }> => {
    const before = await done();
    await single.pass(ms);
    const after = await done();
    return { first: after.first - before.first, second: after.second - before.second };
  };
}

async function done(): Promise<{ first: number; second: number }> {
  const rows = await database.db.all<{ org_id: string; n: number }>(
    'SELECT org_id, sum(ok) AS n FROM batches GROUP BY org_id',
  );
  const of = (org: string) => rows.find(({ org_id: id }) => id === org)?.n ?? 0;
  return { first: of('org_first'), second: of('org_second') };
}

describe('an org that arrives while another holds all slots', () => {
  for (const slots of [1, 2, 3, 6])
    for (const weight of [1, 2, 5])
      it(`gets its share of ${slots} slots at once, at weights of ${weight} to 1`, async () => {
        const during = await startOrgs({ slots }, { first: weight, second: 1 });
        // A turn of the first org, a line's time each for the slots to become free and for the answer, and time to record it.
        const soon = await during((Math.ceil((weight + 1) / slots) + 2) * lineMs + 100);
        expect(soon.second).toBeGreaterThan(0);
        const { first, second } = await during(60_000);
        expect(first + second).toBeGreaterThan((55_000 / lineMs) * slots);
        expect(Math.abs(second - (first + second) / (weight + 1))).toBeLessThanOrEqual(2 * slots);
      });

  it('gets its share of two slots that two processes use', async () => {
    const during = await startOrgs({ slots: 2, processes: 2 }, { first: 2, second: 1 });
    await during(10_000);
    const { first, second } = await during(60_000);
    expect(first / second).toBeGreaterThan(1.8);
    expect(first / second).toBeLessThan(2.3);
  });
});

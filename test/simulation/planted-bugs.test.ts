import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { plantedBugs, searchHints } from './planted-bugs.ts';
import { simulate } from './simulate.ts';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.close());

const seeds = 120;

describe('the simulation detects when', () => {
  it.each(Object.keys(plantedBugs))('%s', async (name) => {
    const { shape, size, from = 1 } = searchHints[name] ?? {};
    let missing: string[] | undefined;
    for (let seed = from; seed < from + seeds; seed++) {
      const options = { plant: plantedBugs[name]!, shape, size };
      const { violations, unplanted } = await simulate(seed, database, options);
      missing = (missing ?? [...unplanted]).filter((text) => unplanted.has(text));
      if (violations.length > 0) return expect(missing, 'texts that no statement has').toEqual([]);
    }
    expect(missing, 'texts that no statement has').toEqual([]);
    expect.fail(`no seed from ${from} to ${from + seeds - 1} detects it`);
  });
});

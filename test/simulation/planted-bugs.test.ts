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
    for (let seed = from; seed < from + seeds; seed++) {
      const { violations } = await simulate(seed, database, { plant: plantedBugs[name], shape, size });
      if (violations.length > 0) return;
    }
    expect.fail(`no seed from ${from} to ${from + seeds - 1} detects it`);
  });
});

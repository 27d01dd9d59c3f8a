import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { PostgresServer } from '../support/postgres.ts';
import { startPostgres } from '../support/postgres.ts';
import { type Interleavings, openInterleavings, type Planted } from './interleaving/interleave.ts';

// Several processes on one Postgres, whose statements and commits interleave as a seed decides; they claim, close, cancel
// and complete concurrently. `npm run test:simulation` tries more seeds.

// Seed 102 found a batch that was published by a process without its lease, and again by another one.
const seeds = [1, 2, 3, 4, 5, 6, 102];
const server = await startPostgres();

if ('reason' in server) test.skip(`interleavings (skipped: ${server.reason})`, () => {});
else describe('F08, F14: statements of several processes in any order', () => interleavingTests(server));

const planted: Record<string, Planted> = {
  'results are counted without the lock of their batch': {
    rewrite: (sql) =>
      /SELECT id, org_id AS "orgId", status.* FROM batches/s.test(sql) ? sql.replace('FOR UPDATE', '') : sql,
  },
  'a lost lease is released or finished by its former holder': {
    rewrite: (sql) =>
      sql.replace('AND batch_chunks.epoch = given.epoch AND owner = ?', 'AND CAST(? AS text) <> $$$$'),
  },
  'a batch is cancelled after its end was decided': {
    rewrite: (sql) => (sql.includes('cancelling_at = ?') ? sql.replace('AND closing IS NULL', '') : sql),
  },
  'a batch expires after its end was decided': {
    rewrite: (sql) =>
      sql.replace(/(WHERE id = \?) AND status IN \([^)]*\) AND closing IS NULL (AND expires_at)/, '$1 $2'),
  },
  'the batch is read before the transaction that counts': {
    isOutside: (sql) => /SELECT id, org_id AS "orgId", status.* FROM batches/s.test(sql),
  },
};

function interleavingTests(postgres: PostgresServer): void {
  let runs: Interleavings;
  beforeAll(async () => {
    runs = await openInterleavings(await postgres.createDatabase());
  });
  afterAll(async () => {
    await runs.close();
    await postgres.stop();
  });

  it.each(seeds)('keep every guarantee, seed %i', async (seed) => {
    expect(await runs.interleave(seed)).toBeNull();
  });

  it.each(Object.keys(planted))('reveal when %s', async (name) => {
    for (let seed = 1; seed <= 60; seed++) if (await runs.interleave(seed, planted[name])) return;
    expect.fail('no seed up to 60 reveals it');
  });
}

import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import type { Db } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { openPostgres } from '../../src/store/postgres/db.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { addBatch, claimOf, failure, output, range, start } from './fixtures.ts';

// A process reads a batch while another one records results of it, between any two statements of the reader.

const server = await startPostgres();

if ('reason' in server) test.skip(`pictures of batches (skipped: ${server.reason})`, () => {});
else describe('a picture of a batch', () => pictureTests(server));

const total = 40;

function pictureTests(postgres: PostgresServer): void {
  let db: Db;
  beforeAll(async () => {
    db = openPostgres(await postgres.createDatabase(), silent);
    await migrate(db);
  });
  afterAll(async () => {
    await db.close();
    await postgres.stop();
  });

  /** Reads a batch while one more line completes and one more fails after each statement of the reader. */
  const readBesideResults = async (snapshot: string) => {
    const writer = createSqlStore(db) as Store;
    const batch = await addBatch(writer, { total });
    await claimOf(writer, 'w', batch.id, { count: total });
    let line = 0;
    const recordTwo = () =>
      writer.results.record('w', [output(batch, line++), failure(batch, line++)], [], start);
    const interrupted: Db = {
      ...db,
      types: { ...db.types, snapshot },
      tx: (work) =>
        db.tx((q) =>
          work({
            ...q,
            all: async (sql, params) => {
              const rows = await q.all(sql, params);
              await recordTwo();
              return rows as never[];
            },
          }),
        ),
    };
    await recordTwo();
    const picture = (await createSqlStore(interrupted).batches.snapshot(batch.id))!;
    expect(line).toBeGreaterThan(8);
    const { ok, err } = picture.batch;
    return {
      ok,
      billed: picture.ledger.reduce((sum, { requests }) => sum + requests, 0),
      err,
      failed: picture.errorSummary.reduce((sum, { count }) => sum + count, 0),
      open: total - ok - err,
      running: picture.running,
    };
  };

  it('shows one moment', async () => {
    for (const _ of range(0, 3)) {
      const { ok, billed, err, failed, open, running } = await readBesideResults(db.types.snapshot);
      expect([billed, failed, running]).toEqual([ok, err, open]);
      expect(ok).toBeGreaterThan(0);
    }
  });

  it('would mix several moments without a snapshot transaction', async () => {
    const { ok, billed, err, failed } = await readBesideResults('');
    expect([billed > ok, failed > err]).toEqual([true, true]);
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { expect, test, vi } from 'vitest';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import { storeConformance } from './conformance.ts';
import { addBatch, claimOf, makeFile, output, range, start } from './fixtures.ts';

storeConformance('the store in a SQLite file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const path = join(folder, 'offpeak.db');
  const store = createSqliteStore({ path, clock: systemClock, log: silent });
  await store.start();
  const beside = new DatabaseSync(path, { timeout: 5_000 });
  const tables = beside
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_version'")
    .all();
  return {
    store,
    other: store,
    reset: async () =>
      beside.exec(
        `BEGIN IMMEDIATE; ${tables.map(({ name }) => `DELETE FROM ${String(name)};`).join('')} COMMIT`,
      ),
    async close() {
      beside.close();
      await store.stop();
      rmSync(folder, { recursive: true });
    },
  };
});

test('heartbeats and results overtake earlier requests', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const store = createSqliteStore({ path: join(folder, 'offpeak.db'), clock: systemClock, log: silent });
  await store.start();
  const batch = await addBatch(store);
  await claimOf(store, 'w', batch.id, { count: 9 });
  const order: string[] = [];
  const tell = (what: string, call: Promise<unknown>) => call.then(() => order.push(what));
  await Promise.all([
    ...range(0, 500).map(() => tell('request', store.files.insert(makeFile(), undefined, start))),
    tell('record', store.results.record('w', [output(batch, 0)], [], start)),
    tell('beat', store.workers.beat('w', { interactive: {} })),
  ]);
  expect(order.length).toBe(502);
  expect(order.slice(-250)).toEqual(Array(250).fill('request'));
  await store.stop();
  rmSync(folder, { recursive: true });
});

test('a poll is compiled once for all limits', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const db = openSqlite(':memory:', { now: () => start });
  const connection = prepare.mock.contexts[0] as DatabaseSync;
  prepare.mockRestore();
  await migrate(db);
  const { batches, results } = createSqlStore(db);
  const poll = async (limit: number) => {
    await batches.expire(start + limit, limit);
    await results.leftovers(limit);
    await results.tail('batch_1', 'errors', limit, { rows: limit, bytes: limit });
  };
  let compiled = 0;
  // SQLite calls this whenever it compiles a statement.
  connection.setAuthorizer(() => {
    compiled++;
    return 0;
  });
  await poll(1);
  compiled = 0;
  await poll(2);
  connection.setAuthorizer(null);
  await db.close();
  expect(compiled).toBe(0);
});

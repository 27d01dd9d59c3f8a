import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { expect, test } from 'vitest';
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

test('a beat and answers go before the requests that came before them', async () => {
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

import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import { storeConformance } from './conformance.ts';

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

import type { Db } from '../../src/store/db.ts';
import { migrate, migrations } from '../../src/store/migrations/migrate.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import { addBatch, makeOrg } from './fixtures.ts';

/** What the step that brought budgets makes of a ledger that was there before: the spending of each month. */
export async function spendingOfOldLedger(db: Db): Promise<object[]> {
  await migrate(db);
  const store = createSqlStore(db) as Store;
  await store.orgs.insert(makeOrg({ id: 'org_a' }));
  // A name that would be a path of JSON, were it not quoted.
  const model = 'org/model:1.5[a]';
  const price = { input: 150_000_001, cachedInput: 75_000_003, output: 600_000_007 };
  const { id } = await addBatch(store, { prices: { [model]: price } });
  const rows = [
    [id, model, '2026-11-21', 'org_a', 1_000, 400, 50, null],
    [id, model, '2026-12-01', 'org_a', 1, 0, 0, null],
    [id, 'unpriced', '2026-11-21', 'org_a', 9, 0, 9, null],
    ['batch_removed', model, '2026-11-21', 'org_a', 9, 0, 9, null],
    ['req_1', model, '2026-11-02', 'org_a', 9, 0, 9, 7_000],
    ['req_2', model, '2026-11-02', 'org_b', 9, 0, 9, 5],
  ];
  for (const row of rows)
    await db.all('INSERT INTO usage_ledger VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, 0, NULL)', row);
  // As it was before that step.
  await db.exec(`DROP TABLE spending; ALTER TABLE orgs DROP COLUMN budget; ALTER TABLE orgs DROP COLUMN budget_period;
    DELETE FROM schema_version WHERE version >= 13`);
  await migrate(db, migrations.slice(0, 3));
  return db.all('SELECT org_id, month, amount FROM spending ORDER BY org_id, month');
}

/** 600 tokens at 150,000,001, 400 at 75,000,003 and 50 at 600,000,007 a million, at half the price. */
export const oldSpending = [
  { org_id: 'org_a', month: '2026-11', amount: 75_000 + 7_000 },
  { org_id: 'org_a', month: '2026-12', amount: 75 },
  { org_id: 'org_b', month: '2026-11', amount: 5 },
];

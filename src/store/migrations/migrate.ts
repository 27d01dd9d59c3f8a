import type { Db, Queries } from '../db.ts';
import { StoreError } from '../../core/store-error.ts';
import { initial } from './0011-initial.ts';
import { roomForCounts } from './0012-room-for-counts.ts';
import { budgets } from './0013-budgets.ts';
import { usedUpSince } from './0014-used-up-since.ts';
import { reasoningTokens } from './0015-reasoning-tokens.ts';
import { usageByKey } from './0016-usage-by-key.ts';
import type { Migration } from './migration.ts';

/** All steps, oldest first. */
export const migrations: readonly Migration[] = [
  initial,
  roomForCounts,
  budgets,
  usedUpSince,
  reasoningTokens,
  usageByKey,
];

/**
 * Brings the schema up to date. Each step and its row in `schema_version` are one transaction: a start that is killed
 * half-way is taken up by the next, and of two that start together one waits.
 * @throws StoreError `newer_schema`, `older_schema`
 */
export async function migrate(db: Db, steps = migrations): Promise<void> {
  while (await applyNext(db, steps));
}

async function applyNext(db: Db, steps: readonly Migration[]): Promise<boolean> {
  // Before the transaction, which waits for others: a second connection may be free only when they are through.
  const now = await db.now();
  return db.tx(async (q) => {
    if (db.types.migrationLock !== '') await q.all(db.types.migrationLock);
    const version = await readVersion(db, q, steps);
    const next = steps.find((migration) => migration.version > version);
    if (!next) return false;
    for (const statement of next.statements(db.types)) await q.all(statement);
    await q.all('INSERT INTO schema_version (version, name, applied_at) VALUES (?, ?, ?)', [
      next.version,
      next.name,
      now,
    ]);
    return true;
  });
}

async function readVersion(db: Db, q: Queries, steps: readonly Migration[]): Promise<number> {
  await q.all(`CREATE TABLE IF NOT EXISTS schema_version (
    version integer PRIMARY KEY,
    name ${db.types.text} NOT NULL,
    applied_at bigint NOT NULL)`);
  const [row] = await q.all<{ version: number }>(
    'SELECT COALESCE(max(version), 0) AS version FROM schema_version',
  );
  const { version } = row!;
  const [first, last] = [steps[0]!.version, steps.at(-1)!.version];
  if (version > last)
    throw new StoreError(
      'newer_schema',
      `The database has schema version ${version}; this version of Offpeak knows up to ${last}.`,
      'Start the Offpeak version that wrote it, or a newer one. Nothing was changed.',
    );
  if (version > 0 && version < first)
    throw new StoreError(
      'older_schema',
      `The database has schema version ${version}; this version of Offpeak takes those from ${first} on.`,
      'Start a version in between first, or begin with a new database. Nothing was changed.',
    );
  return version;
}

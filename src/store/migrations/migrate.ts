import type { Db, Queries } from '../db.ts';
import { StoreError } from '../../core/store-error.ts';
import { initial } from './0001-initial.ts';
import { teams } from './0002-teams.ts';
import { audit } from './0003-audit.ts';
import { money } from './0004-money.ts';
import { operators } from './0005-operators.ts';
import { limits } from './0006-limits.ts';
import { storage } from './0007-storage.ts';
import { queuedWork } from './0008-queued-work.ts';
import { batchSearch } from './0009-batch-search.ts';
import { conversationItems } from './0010-conversation-items.ts';
import { consoleSessions } from './0011-console-sessions.ts';
import { keyFamilies } from './0012-key-families.ts';
import { batchesByEndpoint } from './0013-batches-by-endpoint.ts';
import { lineRuns } from './0014-line-runs.ts';
import { upgrades } from './0015-upgrades.ts';
import { batchActions } from './0016-batch-actions.ts';
import { batchHistories } from './0017-batch-histories.ts';
import { requestGroups } from './0018-request-groups.ts';
import { fieldWarnings } from './0019-field-warnings.ts';
import { deletedBatches } from './0020-deleted-batches.ts';
import { keyTiers } from './0021-key-tiers.ts';
import { batchWindows } from './0022-batch-windows.ts';
import { replicaCaps } from './0023-replica-caps.ts';
import { schemaSupport } from './0024-schema-support.ts';
import { duties } from './0025-duties.ts';
import { usageSums } from './0026-usage-sums.ts';
import { readyOrgs } from './0027-ready-orgs.ts';
import { tableGrowth } from './0028-table-growth.ts';
import { lateWork } from './0029-late-work.ts';
import type { Migration } from './migration.ts';

/** All migrations, oldest first. */
export const migrations: readonly Migration[] = [
  initial,
  teams,
  audit,
  money,
  operators,
  limits,
  storage,
  queuedWork,
  batchSearch,
  conversationItems,
  consoleSessions,
  keyFamilies,
  batchesByEndpoint,
  lineRuns,
  upgrades,
  batchActions,
  batchHistories,
  requestGroups,
  fieldWarnings,
  deletedBatches,
  keyTiers,
  batchWindows,
  replicaCaps,
  schemaSupport,
  duties,
  usageSums,
  readyOrgs,
  tableGrowth,
  lateWork,
];

/** Schema version of this version of Offpeak. */
export const schemaVersion = migrations.at(-1)!.version;

/** Warning for the log of a start on a database that a newer version has migrated; null on any other. */
export function newerSchemaWarning(
  version: number,
): { fields: Record<string, number>; message: string } | null {
  if (version <= schemaVersion) return null;
  return {
    fields: { schema_version: version, own_version: schemaVersion },
    message:
      'A newer version of Offpeak has migrated the database. This version runs alongside it: replace it soon.',
  };
}

/**
 * Brings the schema up to date. Each migration and its row in `schema_version` are one transaction: the next start continues
 * after one that was killed, and of two processes that start together one waits.
 * @returns the version of the schema, above the own one if a newer version of Offpeak wrote it and supports this one
 * @throws StoreError `newer_schema`, `older_schema`
 */
export async function migrate(db: Db, steps = migrations): Promise<number> {
  for (;;) {
    const { version, isDone } = await applyNext(db, steps);
    if (isDone) return version;
  }
}

async function applyNext(db: Db, steps: readonly Migration[]): Promise<{ version: number; isDone: boolean }> {
  // Before the transaction, which may wait for another process: a second connection may be free only after that.
  const now = await db.now();
  return db.tx(async (q) => {
    if (db.types.migrationLock !== '') await q.all(db.types.migrationLock);
    const version = await readVersion(db, q, steps);
    const next = steps.find((migration) => migration.version > version);
    if (!next) return { version, isDone: true };
    for (const statement of next.statements(db.types)) await q.all(statement);
    await q.all('INSERT INTO schema_version (version, name, applied_at) VALUES (?, ?, ?)', [
      next.version,
      next.name,
      now,
    ]);
    return { version: next.version, isDone: false };
  });
}

/** Version of the latest migration in the database; 0 for a new database. */
async function readVersion(db: Db, q: Queries, steps: readonly Migration[]): Promise<number> {
  await q.all(`CREATE TABLE IF NOT EXISTS schema_version (
    version integer PRIMARY KEY,
    name ${db.types.text} NOT NULL,
    applied_at bigint NOT NULL)`);
  const applied = await q.all<Pick<Migration, 'version' | 'name'>>(
    'SELECT version, name FROM schema_version ORDER BY version',
  );
  const [first, latest] = [applied[0], applied.at(-1)];
  if (!first || !latest) return 0;
  if (first.name !== steps[0]!.name)
    throw new StoreError(
      'older_schema',
      'The database was created before Offpeak 0.1.0 and cannot be upgraded: start with an empty data folder or a new database.',
      'Nothing was changed.',
    );
  const known = steps.at(-1)!.version;
  if (latest.version > known) await requireSupport(q, latest.version, known);
  return latest.version;
}

async function requireSupport(q: Queries, version: number, known: number): Promise<void> {
  const [support] = await q.all<{ oldest: number }>('SELECT oldest FROM schema_support');
  if (support!.oldest <= known) return;
  throw new StoreError(
    'newer_schema',
    `The database has schema version ${version}, which supports versions of Offpeak from schema version ${support!.oldest}; this one has ${known}.`,
    'Start the Offpeak version that wrote it, or a newer one. Nothing was changed.',
  );
}

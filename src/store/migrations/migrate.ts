import type { Db, Queries } from '../db.ts';
import { StoreError } from '../../core/store-error.ts';
import { initial } from './0001-initial.ts';
import { responses } from './0002-responses.ts';
import { installation } from './0003-installation.ts';
import { conversations } from './0004-conversations.ts';
import { webhooks } from './0005-webhooks.ts';
import { batchStates } from './0006-batch-states.ts';
import { fleet } from './0007-fleet.ts';
import { batchLists } from './0008-batch-lists.ts';
import { queue } from './0009-queue.ts';
import { keptConversations } from './0010-conversations.ts';
import { chats } from './0011-chats.ts';
import { roomForCounts } from './0012-room-for-counts.ts';
import type { Migration } from './migration.ts';

/** All steps, oldest first. */
export const migrations: readonly Migration[] = [
  initial,
  responses,
  installation,
  conversations,
  webhooks,
  batchStates,
  fleet,
  batchLists,
  queue,
  keptConversations,
  chats,
  roomForCounts,
];

/**
 * Brings the schema up to date. Each step and its row in `schema_version` are one transaction: a start that is killed
 * half-way is taken up by the next, and of two that start together one waits.
 * @throws StoreError `newer_schema`
 */
export async function migrate(db: Db, steps = migrations): Promise<void> {
  while (await applyNext(db, steps));
}

function applyNext(db: Db, steps: readonly Migration[]): Promise<boolean> {
  return db.tx(async (q) => {
    if (db.types.migrationLock !== '') await q.all(db.types.migrationLock);
    const version = await readVersion(db, q, steps.length);
    const next = steps.find((migration) => migration.version === version + 1);
    if (!next) return false;
    for (const statement of next.statements(db.types)) await q.all(statement);
    await q.all('INSERT INTO schema_version (version, name, applied_at) VALUES (?, ?, ?)', [
      next.version,
      next.name,
      await db.now(),
    ]);
    return true;
  });
}

async function readVersion(db: Db, q: Queries, known: number): Promise<number> {
  await q.all(`CREATE TABLE IF NOT EXISTS schema_version (
    version integer PRIMARY KEY,
    name ${db.types.text} NOT NULL,
    applied_at bigint NOT NULL)`);
  const [row] = await q.all<{ version: number }>(
    'SELECT COALESCE(max(version), 0) AS version FROM schema_version',
  );
  if (row!.version > known)
    throw new StoreError(
      'newer_schema',
      `The database has schema version ${row!.version}; this version of Offpeak knows up to ${known}.`,
      'Start the Offpeak version that wrote it, or a newer one. Nothing was changed.',
    );
  return row!.version;
}

import { schemaVersion } from '../../migrations/migrate.ts';
import type { Db, Queries } from '../../db.ts';
import { recount } from '../recount.ts';

/** Schema version of 0.1.0, which its heartbeats do not name. */
export const firstVersion = 1;

/** True if a process below this schema version has sent a heartbeat since then. */
export async function hasOlder(q: Queries, version: number, since: number): Promise<boolean> {
  const older = await q.all('SELECT 1 AS one FROM workers WHERE beat_at > ? AND schema_version < ? LIMIT 1', [
    since,
    version,
  ]);
  return older.length > 0;
}

/**
 * Recounts what older processes did not count, and records that. An older process that returns from a standstill undoes the
 * record, so that all is counted again after it.
 * @param since of the heartbeats of live processes
 * @returns false while an older process is alive
 */
export async function finishUpgrade(db: Db, now: number, since: number): Promise<boolean> {
  // One process at a time uses an embedded database, so nothing was written after the migrations.
  if (db.types.dialect === 'sqlite') return true;
  const [finished] = await db.all('SELECT version FROM finished_upgrades WHERE version = ?', [schemaVersion]);
  if (await hasOlder(db, schemaVersion, since)) {
    if (finished) await db.all('DELETE FROM finished_upgrades WHERE version = ?', [schemaVersion]);
    return false;
  }
  if (finished) return true;
  await recount(db);
  await db.all(
    'INSERT INTO finished_upgrades (version, finished_at) VALUES (?, ?) ON CONFLICT (version) DO NOTHING',
    [schemaVersion, now],
  );
  return true;
}

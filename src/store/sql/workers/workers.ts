import type { Db, Queries } from '../../db.ts';
import type { Lease } from '../../contract/claim.ts';
import type { WorkerLoad } from '../../../core/worker-load.ts';
import type { WorkerStore } from '../../contract/workers.ts';
import { idleState, releaseLeases } from '../batches/chunks.ts';
import { tuples } from '../statement.ts';
import { tableOf } from '../table.ts';
import { missingModels } from './missing-models.ts';
import { listWorkers } from './list-workers.ts';
import { leaseSlotsOf } from './slot-leases.ts';
import { schemaVersion } from '../../migrations/migrate.ts';
import { finishUpgrade, firstVersion, hasOlder } from './upgrade.ts';

/** A process is dead after this time without a heartbeat. */
export const lifeMs = 30_000;

export function createWorkers(db: Db): WorkerStore {
  return {
    async beat(id, load) {
      const now = await db.now();
      await db.all(
        `INSERT INTO workers (id, beat_at, load, schema_version) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, load = excluded.load`,
        [id, now, JSON.stringify(load), schemaVersion],
      );
      const rows = await db.all<{ load: string }>(
        'SELECT load FROM workers WHERE id <> ? AND beat_at > ? ORDER BY id',
        [id, now - lifeMs],
      );
      return { now, others: rows.map((row) => JSON.parse(row.load) as WorkerLoad) };
    },

    hasFirstVersion: async () => hasOlder(db, firstVersion + 1, (await db.now()) - lifeMs),
    finishUpgrade: (now) => finishUpgrade(db, now, now - lifeMs),

    leaseSlots: (id, asks, now) => leaseSlotsOf(db, id, asks, now),

    missingModels: (now) => missingModels(db, now, now - lifeMs),

    list: () => listWorkers(db),
    leases: (id) => leasesOf(db, id),

    reap: (before, detached = []) =>
      db.tx(async (q) => {
        await q.all('DELETE FROM workers WHERE beat_at < ?', [before]);
        const taken = await q.all(
          `UPDATE batch_chunks SET state = ${idleState}, owner = NULL, kills = kills + ${killsOf(detached)}
           WHERE state = 'leased' AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = batch_chunks.owner)
           RETURNING seq`,
          [...detached],
        );
        return taken.length;
      }),

    leave: (id) =>
      db.tx(async (q) => {
        await releaseLeases(q, id, await leasesOf(q, id));
        await q.all('DELETE FROM workers WHERE id = ?', [id]);
      }),

    async clear() {
      await db.all('DELETE FROM workers');
    },
  };
}

/** Kills that the death of a process counts for a chunk. */
function killsOf(detached: readonly string[]): string {
  if (detached.length === 0) return '1';
  return `CASE WHEN model IN ${tuples(1, detached.length)} THEN 0 ELSE 1 END`;
}

const leasesOf = (q: Queries, worker: string) =>
  chunkLeases.all(q, { owner: worker, "state = 'leased'": [] });

const chunkLeases = tableOf<Lease>('batch_chunks')('batchId seq epoch');

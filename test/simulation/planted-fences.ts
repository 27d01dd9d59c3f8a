import { around, inSql, type Plant } from './plant.ts';

/** Fences of one lease, and of a set of leases. */
const anyLease = ['AND epoch = ? AND owner = ?', 'AND ? IS NOT NULL AND ? IS NOT NULL'] as const;
const anyLeases = ['AND batch_chunks.epoch = given.epoch AND owner = ?', 'AND ? IS NOT NULL'] as const;
const noneRecorded = ['r.line = asked.line', 'r.line = -1'] as const;
const unlocked = ['/* locked */', ''] as const;

/** Bugs in the rules of claiming, releasing and finishing chunks, and of recording results. */
export const plantedFences: Record<string, Plant> = {
  'a release is not fenced': inSql('batches.release', anyLeases),
  'a chunk is finished under any lease': inSql('results.record', anyLeases),
  'a batch is published under any lease': inSql('batches.publish', anyLease, anyLeases),
  'the gate is shut under any lease': inSql('batches.closeGate', anyLease),
  'missing lines are recorded under any lease': inSql('results.recordMissing', anyLease),
  'a suspect is split under any lease': inSql('batches.split', anyLease, anyLeases, [
    "state = 'leased'",
    "state <> 'done'",
  ]),
  'a claim does not begin an epoch': inSql('batches.claim', ['epoch = epoch + 1', 'epoch = epoch']),
  'a leased chunk can be claimed': inSql(
    'batches.claim',
    ["AND state = 'ready'", "AND state IN ('ready', 'leased')"],
    ["c.org_id = ? AND c.state = 'ready'", "c.org_id = ? AND c.state IN ('ready', 'leased')"],
  ),
  'a claim returns lines that have a result': inSql('batches.claim', noneRecorded),
  'kills are not counted': inSql('workers.reap', ['kills = kills + 1', 'kills = kills']),
  'chunks are taken from living processes': (parts) =>
    around(parts, { workers: { reap: (before) => parts.store.workers.reap(before + 25_000) } }),
  'a process that leaves keeps its leases': inSql('workers.leave', [
    "AND state = 'leased'",
    "AND state = 'gone'",
  ]),

  'the gate is never shut': inSql('batches.closeGate', ['accept_until = 0', 'accept_until = accept_until']),
  'answers are accepted after the gate was shut': inSql('results.record', ['accept_until AS', '9e15 AS']),
  'answers are accepted after the end': inSql('results.record', [
    'status, closing',
    "'in_progress' AS status, closing",
  ]),
  'a later answer replaces the first': inSql('results.record', noneRecorded, [
    'INSERT INTO batch_results',
    'INSERT OR REPLACE INTO batch_results',
  ]),
  'counters are read without their lock': inSql('results.record', unlocked),
  'chunks are leased without the lock of their batch': inSql('batches.claim', unlocked),

  'a chunk is finished before its results are recorded': (parts) =>
    around(parts, {
      results: {
        record: async (worker, results, finished, now) => {
          await parts.store.results.record(worker, [], finished, now);
          return parts.store.results.record(worker, results, [], now);
        },
      },
    }),
};

import type { Db, Queries } from '../../db.ts';
import type { WorkerLoad } from '../../../core/worker-load.ts';
import type { MissingModel } from '../../contract/workers.ts';
import { readyModels } from '../batches/chunks.ts';

/** Longer gaps between observations mean that no process was alive: `since` restarts, as a server of the model may be starting. */
const unseenMs = 5 * 60_000;
/** Interval of recorded observations. */
const seenMs = 60_000;

/** @param aliveSince processes without a later beat are dead */
export async function missingModels(db: Db, now: number, aliveSince: number): Promise<MissingModel[]> {
  const ready = await readyModels(db);
  return db.tx(async (q) => {
    const rows = await q.all<{ model: string; since: number; seen_at: number }>(
      `SELECT model, since, seen_at FROM missing_models ORDER BY model ${q.forUpdate}`,
    );
    if (ready.length === 0 && rows.length === 0) return [];
    const isServed = await servedNow(q, aliveSince);
    const missing = ready.filter((model) => !isServed(model));
    for (const { model } of rows)
      if (!missing.includes(model)) await q.all('DELETE FROM missing_models WHERE model = ?', [model]);
    const found: MissingModel[] = [];
    for (const model of missing) {
      const known = rows.find((row) => row.model === model);
      const since = known && now - known.seen_at < unseenMs ? known.since : now;
      if (!known || now - known.seen_at >= seenMs)
        await q.all(
          `INSERT INTO missing_models (model, since, seen_at) VALUES (?, ?, ?)
           ON CONFLICT (model) DO UPDATE SET since = excluded.since, seen_at = excluded.seen_at`,
          [model, since, now],
        );
      found.push({ model, since });
    }
    return found;
  });
}

async function servedNow(q: Queries, aliveSince: number): Promise<(model: string) => boolean> {
  const rows = await q.all<{ load: string }>('SELECT load FROM workers WHERE beat_at > ?', [aliveSince]);
  const loads = rows.map(({ load }) => JSON.parse(load) as WorkerLoad);
  return (model) => loads.some(({ serves }) => serves?.includes(model) ?? true);
}

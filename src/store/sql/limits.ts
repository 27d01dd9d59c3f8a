import { type Share, type SharedUse, shareUse } from '../../core/shared-use.ts';
import type { LimitStore } from '../contract/limits.ts';
import type { Db } from '../db.ts';
import { tableOf } from './table.ts';

interface UseRow {
  id: string;
  used: SharedUse;
  usedAt: number;
}

const uses = tableOf<UseRow>('limit_use', { json: ['used'] })('id used usedAt');

const unused = (): SharedUse => ({ meters: {}, held: {} });

export function createLimits(db: Db): LimitStore {
  return {
    share: (process, requests, now) =>
      db.tx(async (q) => {
        // By id: one lock order for all processes.
        const ids = Object.keys(requests).toSorted();
        const read = (some: string[]) => uses.among(q, 'id', some, {}, `ORDER BY id ${q.forUpdate}`);
        let rows = await read(ids);
        if (rows.length < ids.length) {
          const missing = ids.filter((id) => !rows.some((row) => row.id === id));
          const created = missing.map((id) => ({ id, used: unused(), usedAt: now }));
          await uses.insert(q, created, 'ON CONFLICT (id) DO NOTHING');
          rows = [...rows, ...(await read(missing))];
        }
        const shares: Record<string, Share> = {};
        const next = rows.map(({ id, used }): UseRow => {
          const { use, share } = shareUse(used, process, requests[id]!, now);
          shares[id] = share;
          return { id, used: use, usedAt: now };
        });
        await uses.insert(
          q,
          next,
          'ON CONFLICT (id) DO UPDATE SET used = excluded.used, used_at = excluded.used_at',
        );
        return shares;
      }),

    async read(ids) {
      const rows = await uses.among(db, 'id', ids);
      return Object.fromEntries(rows.map(({ id, used }) => [id, used]));
    },

    async removeUnused(before) {
      await uses.remove(db, { 'used_at < ?': before });
    },
  };
}

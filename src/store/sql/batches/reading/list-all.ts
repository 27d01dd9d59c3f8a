import { type Batch, batchStatuses, type BatchStatus } from '../../../../core/batch.ts';
import type { AllBatchesQuery, BatchStore } from '../../../contract/batches.ts';
import type { Db, Value } from '../../../db.ts';
import { batches } from '../../rows.ts';
import { sliceEnd } from '../../scan.ts';
import { conditions, type Where } from '../../table.ts';
import { isBatch, open } from '../queued-work.ts';

/** Rows that one slice of a search reads: some milliseconds of an embedded database. */
const searchedRows = 500;

/** Lists the batches of all orgs. Each group of rows has an index in the order of the list, so that a page reads only its rows. */
export function createListAll(db: Db): Pick<BatchStore, 'listAll' | 'search' | 'countByStatus'> {
  const position = db.types.dialect === 'sqlite' ? 'instr' : 'strpos';

  return {
    async listAll(query) {
      const { order = 'desc', limit, of } = query;
      const where = rowsOf(query);
      const tail = `ORDER BY id ${order} LIMIT ?`;
      if (!of || !('models' in of)) return batches.all(db, where, tail, [limit]);
      const ids = await idsOf(db, of.models, where, tail, limit);
      const found = await batches.among(db, 'id', ids);
      const byId = new Map(found.map((batch) => [batch.id, batch]));
      return ids.map((id) => byId.get(id)).filter((batch): batch is Batch => batch !== undefined);
    },

    async countByStatus(orgId, max) {
      const params: Value[] = [];
      const counts = batchStatuses.map((status) => {
        const of = orgId === undefined ? { status } : { orgId, status };
        const rows = conditions({ [isBatch]: [], ...groupOf(of) });
        params.push(...rows.params, max);
        return `(SELECT count(*) FROM (SELECT 1 FROM batches WHERE ${rows.sql} LIMIT ?) AS counted) AS ${status}`;
      });
      const [row] = await db.all<Record<BatchStatus, number>>(`SELECT ${counts.join(', ')}`, params);
      return row!;
    },

    async search({ words, ...query }) {
      const { order = 'desc', limit } = query;
      const rows = rowsOf(query);
      const last = await sliceEnd(db, 'batches', rows, order, searchedRows);
      const where = {
        ...rows,
        [order === 'asc' ? 'id <= ?' : 'id >= ?']: last,
        // A process of an earlier version stores no text.
        [words.map(() => `${position}(COALESCE(search, id), ?) > 0`).join(' AND ')]: words,
      };
      const found = await batches.all(db, where, `ORDER BY id ${order} LIMIT ?`, [limit]);
      return { batches: found, next: found.length === limit ? found.at(-1)!.id : (last ?? null) };
    },
  };
}

/** Batches of the group between the instants, after the cursor. */
function rowsOf(query: AllBatchesQuery): Where {
  const { after, order = 'desc', of } = query;
  return { [isBatch]: [], ...sinceOf(query), ...groupOf(of), [order === 'asc' ? 'id > ?' : 'id < ?']: after };
}

function groupOf(of: AllBatchesQuery['of'] = { models: [] }): Where {
  if ('models' in of) return {};
  if ('open' in of) return { [open]: [] };
  return 'orgId' in of
    ? { 'org_id = ?': of.orgId, 'status = ?': of.status }
    : // Spelled as in the index `batches_of_status`.
      { "status || '' = ?": of.status };
}

/** Ids of the first batches of these models, and of several models. */
async function idsOf(
  db: Db,
  models: readonly string[],
  where: Where,
  tail: string,
  limit: number,
): Promise<string[]> {
  const terms: string[] = [];
  const params: Value[] = [];
  for (const model of [...models, null]) {
    const condition = conditions({ model, ...where });
    terms.push(`SELECT id FROM (SELECT id FROM batches WHERE ${condition.sql} ${tail}) AS of_model`);
    params.push(...condition.params, limit);
  }
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM (${terms.join(' UNION ALL ')}) AS of_models ${tail}`,
    [...params, limit],
  );
  return rows.map(({ id }) => id);
}

/** Bounds the ids by creation: ids follow it, except for clocks that differ between machines. */
function sinceOf({ createdAfter, createdBefore }: AllBatchesQuery): Where {
  const first = (condition: string, direction: 'ASC' | 'DESC') =>
    `(SELECT id FROM batches WHERE ${condition} ORDER BY created_at ${direction}, id ${direction} LIMIT 1000) AS nearest`;
  return {
    [`+created_at >= ? AND id >= (SELECT min(id) FROM ${first('created_at >= ?', 'ASC')})`]:
      createdAfter === undefined ? undefined : [createdAfter, createdAfter],
    [`+created_at < ? AND id <= (SELECT max(id) FROM ${first('created_at < ?', 'DESC')})`]:
      createdBefore === undefined ? undefined : [createdBefore, createdBefore],
  };
}

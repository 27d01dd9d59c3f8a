import type { Db } from '../db.ts';
import { conditions, type Where } from './table.ts';

/**
 * Id of the last row of a slice in the order of a list; undefined for the last slice. Only the index is read. A filter that matches
 * few rows reads all of them, so each statement is limited to a slice: SQLite's thread serves everybody.
 * @param rows of the slice
 */
export async function sliceEnd(
  db: Db,
  table: string,
  where: Where,
  order: 'asc' | 'desc',
  rows: number,
): Promise<string | undefined> {
  const { sql, params } = conditions(where);
  const [row] = await db.all<{ id: string }>(
    `SELECT id FROM ${table} WHERE ${sql} ORDER BY id ${order} LIMIT 1 OFFSET ?`,
    [...params, rows - 1],
  );
  return row?.id;
}

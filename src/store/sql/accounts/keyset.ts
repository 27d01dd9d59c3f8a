import type { KeysetPage } from '../../contract/accounts.ts';
import type { Db, Value } from '../../db.ts';
import { tableOf, type Where } from '../table.ts';

/** Conditions, tail and parameters of a page in ascending order of ids. */
export function keyset(
  { limit, after }: KeysetPage = {},
  where: Where = {},
): [where: Where, tail: string, params: Value[]] {
  const isLimited = limit !== undefined;
  return [
    { ...where, 'id > ?': after },
    `ORDER BY id${isLimited ? ' LIMIT ?' : ''}`,
    isLimited ? [limit] : [],
  ];
}

/** Names of the rows that exist, by id. */
export async function namesOf(
  db: Db,
  table: 'orgs' | 'api_keys',
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tableOf<{ id: string; name: string }>(table)('id name').among(db, 'id', ids);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

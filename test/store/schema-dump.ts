import type { Db } from '../../src/store/db.ts';

/** The schema as statements, without what differs between two databases that are the same. */
export async function dumpSqlite(db: Db): Promise<string> {
  const rows = await db.all<{ sql: string }>(
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type = 'index', name",
  );
  return rows.map(({ sql }) => `${sql.replaceAll(/\n\s+/g, '\n  ')};\n`).join('\n');
}

interface Column {
  name: string;
  type: string;
  required: boolean;
  value: string | null;
}

/** The same from the catalog of Postgres, which keeps no statements. */
export async function dumpPostgres(db: Db): Promise<string> {
  const tables = await db.all<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname = 'public' ORDER BY c.relname`,
  );
  const dumps: string[] = [];
  for (const { name } of tables) dumps.push(await dumpTable(db, name));
  return dumps.join('\n');
}

async function dumpTable(db: Db, table: string): Promise<string> {
  const columns = await db.all<Column>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) ||
       CASE WHEN k.collname IN ('default') THEN '' ELSE coalesce(' COLLATE "' || k.collname || '"', '') END AS type,
       a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS value
     FROM pg_attribute a LEFT JOIN pg_collation k ON k.oid = a.attcollation
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = CAST(? AS regclass) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [table],
  );
  const constraints = await db.all<{ definition: string }>(
    `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
     WHERE conrelid = CAST(? AS regclass) AND contype IN ('p', 'u', 'c', 'f') ORDER BY contype, conname`,
    [table],
  );
  const indexes = await db.all<{ definition: string }>(
    `SELECT pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i
     WHERE i.indrelid = CAST(? AS regclass) AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
     ORDER BY 1`,
    [table],
  );
  const lines = [
    ...columns.map(({ name, type, required, value }) =>
      [name, type, required ? 'NOT NULL' : '', value === null ? '' : `DEFAULT ${value}`]
        .filter(Boolean)
        .join(' '),
    ),
    ...constraints.map(({ definition }) => definition),
  ];
  const statements = [
    `CREATE TABLE ${table} (\n  ${lines.join(',\n  ')})`,
    ...indexes.map(({ definition }) => definition),
  ];
  return statements.map((statement) => `${statement};\n`).join('\n');
}

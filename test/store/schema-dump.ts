import type { Db } from '../../src/store/db.ts';

/** Schema of a SQLite database as statements: the content of `test/store/schema.sql`. */
export async function dumpSchema(sqlite: Db): Promise<string> {
  const rows = await sqlite.all<{ sql: string }>(
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type = 'index', name",
  );
  return rows.map(({ sql }) => `${sql.replaceAll(/\n\s+/g, '\n  ')};\n`).join('\n');
}

const outlines = {
  sqlite: [
    `SELECT t.name || '.' || c.name || ' ' || lower(c.type) || CASE WHEN c."notnull" = 1 OR c.pk > 0 THEN ' NOT NULL' ELSE '' END ||
       coalesce(' DEFAULT ' || c.dflt_value, '') AS line
     FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'`,
    `SELECT t.name || ' PRIMARY KEY ' || (SELECT group_concat(name, ', ' ORDER BY pk) FROM pragma_table_info(t.name) WHERE pk > 0)
       AS line
     FROM sqlite_schema t WHERE t.type = 'table'`,
    `SELECT t.name || ' ' || CASE i.origin WHEN 'u' THEN 'UNIQUE' ELSE i.name END || ' ' ||
       (SELECT group_concat(coalesce(name, '(expression)'), ', ' ORDER BY seqno) FROM pragma_index_info(i.name)) ||
       CASE i."unique" WHEN 1 THEN ' unique' ELSE '' END || CASE i.partial WHEN 1 THEN ' partial' ELSE '' END AS line
     FROM sqlite_schema t JOIN pragma_index_list(t.name) i WHERE t.type = 'table' AND i.origin <> 'pk'`,
  ],
  postgres: [
    `SELECT c.relname || '.' || a.attname || ' ' || replace(format_type(a.atttypid, a.atttypmod), 'bytea', 'blob') ||
       CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || regexp_replace(pg_get_expr(d.adbin, d.adrelid), '::text$', ''), '') AS line
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped`,
    `SELECT c.relname || CASE WHEN i.indisprimary THEN ' PRIMARY KEY ' WHEN k.oid IS NOT NULL THEN ' UNIQUE '
         ELSE ' ' || x.relname || ' ' END ||
       (SELECT string_agg(CASE i.indkey[n - 1] WHEN 0 THEN '(expression)' ELSE pg_get_indexdef(i.indexrelid, n, true) END, ', ' ORDER BY n)
          FROM generate_series(1, i.indnatts) AS n) ||
       CASE WHEN i.indisunique AND NOT i.indisprimary THEN ' unique' ELSE '' END ||
       CASE WHEN i.indpred IS NOT NULL THEN ' partial' ELSE '' END AS line
     FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
     LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'u'
     WHERE c.relnamespace = 'public'::regnamespace`,
  ],
} as const;

/** Tables, columns, keys and indexes, one a line, written the same for both databases. */
export async function outlineSchema(db: Db): Promise<string[]> {
  const parts = await Promise.all(outlines[db.types.dialect].map((sql) => db.all<{ line: string }>(sql)));
  return parts
    .flat()
    .map(({ line }) => line)
    .toSorted();
}

/** Text columns that Postgres would not compare byte by byte. */
export async function looselyCollated(postgres: Db): Promise<object[]> {
  return postgres.all(
    `SELECT c.relname AS table_name, a.attname AS column_name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     JOIN pg_collation k ON k.oid = a.attcollation
     WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND k.collname <> 'C'`,
  );
}

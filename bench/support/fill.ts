import { Client } from 'pg';
import { batchFile } from './batch-file.ts';
import type { Offpeak } from './offpeak.ts';
import { uploadFile } from './run-batch.ts';

export interface FillOptions {
  /** Orgs with ready work, the one of the bench key included. */
  orgs: number;
  /** Open batches, spread over the orgs. All of their chunks are ready. */
  open: number;
}

/** Requests of each batch: one chunk, and the one that closes the batch. */
const lines = 4;
/** Rows per statement, so that the server needs little memory. */
const slice = 100_000;
/** Milliseconds between the creation of two batches. */
const everyMs = 10;

export interface Filled {
  /** Batch that was created through the API, and whose rows the others copy. */
  batchId: string;
  orgId: string;
}

/**
 * Fills a Postgres database with copies of a batch that a server creates. `generate_series` copies its rows, so that the copies can run.
 * @param offpeak server on this database that runs no batches
 */
export async function fill(offpeak: Offpeak, database: string, { orgs, open }: FillOptions): Promise<Filled> {
  const fileId = await uploadFile(offpeak, batchFile(lines, 500));
  const { id: batchId } = await offpeak.post<{ id: string }>(
    '/v1/batches',
    JSON.stringify({ input_file_id: fileId, endpoint: '/v1/chat/completions', completion_window: '24h' }),
  );
  return withClient(database, async (client) => {
    const { rows } = await client.query<{ org_id: string }>(
      `SELECT org_id FROM batches WHERE id = '${batchId}'`,
    );
    const orgId = rows[0]!.org_id;
    // Copy n belongs to org n % orgs; org 0 is that of the bench key.
    const org = (n: string) =>
      `CASE ${n} % ${orgs} WHEN 0 THEN '${orgId}' ELSE 'org_' || lpad(to_hex(${n} % ${orgs}), 32, '0') END`;
    const id = (n: string) => `left('${batchId}', 18) || lpad(to_hex(${n}), 20, '0')`;
    const name = (n: string) => `'Org ' || ${n}`;
    await copyRows(client, 'orgs', `id = '${orgId}'`, orgs - 1, { id: org('nth'), name: name('nth') });
    await copyRows(client, 'batches', `id = '${batchId}'`, open - 1, {
      id: id('nth'),
      org_id: org('nth'),
      created_at: `created_at + ${everyMs} * nth`,
      expires_at: `expires_at + ${everyMs} * nth`,
      due: `due + ${everyMs} * nth`,
    });
    await copyRows(client, 'batch_chunks', `batch_id = '${batchId}'`, open - 1, {
      batch_id: id('nth'),
      org_id: org('nth'),
      due: `due + ${everyMs} * nth`,
    });
    await client.query('VACUUM ANALYZE');
    return { batchId, orgId };
  });
}

/**
 * Copies the rows of a table that match `count` times, with other values in some columns: SQL in which `nth` is the number of the copy,
 * from 1 on, and columns are those of the copied row.
 */
export async function copyRows(
  client: Client,
  table: string,
  where: string,
  count: number,
  values: Record<string, string>,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
  );
  const names = rows.map(({ name }) => name);
  const selected = names.map((name) => values[name] ?? name);
  for (let from = 1; from <= count; from += slice)
    await client.query(
      `INSERT INTO ${table} (${names.join(', ')})
       SELECT ${selected.join(', ')} FROM (SELECT * FROM ${table} WHERE ${where}) AS copied,
         generate_series(${from}, ${Math.min(count, from + slice - 1)}) AS nth`,
    );
}

export async function withClient<T>(database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(database);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

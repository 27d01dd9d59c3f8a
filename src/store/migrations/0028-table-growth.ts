import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Storage of tables whose rows come and go, or stay forever. */
export const tableGrowth: Migration = {
  version: 28,
  name: 'table-growth',
  statements: ({ dialect }: ColumnTypes) => [
    // The primary key has all columns of a group, so that a range of days or months is twenty times as large in it.
    'CREATE INDEX usage_sums_by_span ON usage_sums (level, span)',
    ...(dialect === 'postgres' ? postgresStorage : []),
  ],
};

/**
 * By default, Postgres vacuums a table once a fifth of its rows are dead, and pauses so often that a purge of large batches leaves dead
 * rows faster than it removes them.
 */
const postgresStorage = [
  // A row per line, which is removed with its batch: vacuumed after 2 % of dead rows, ten times as fast.
  ...['batch_results', 'request_bodies', 'batch_chunks'].map(
    (table) =>
      `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
       autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000)`,
  ),
  // A few rows, each updated about once a second: vacuumed by the number of dead rows.
  ...['workers', 'slot_leases', 'queues', 'queue_shares', 'limit_use', 'spending', 'duties'].map(
    (table) =>
      `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
       autovacuum_vacuum_cost_delay = 0)`,
  ),
  // Rows stay forever, and are updated while their batch runs. In half a page, all updates stay on the page as with 30 % before. Rows of
  // batches keep the 30 %: with fewer pages, a search in an org was planned by id and read all orgs.
  'ALTER TABLE usage_ledger SET (fillfactor = 50)',
];

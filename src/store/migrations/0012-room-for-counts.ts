import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/**
 * Postgres writes a row anew for each change, and into all indexes, too, unless there is room on its page. What every flush of
 * results counts up gets that room.
 */
export const roomForCounts: Migration = {
  version: 12,
  name: 'room-for-counts',
  statements: ({ dialect }: ColumnTypes) =>
    dialect === 'postgres'
      ? ['batches', 'usage_ledger'].map((table) => `ALTER TABLE ${table} SET (fillfactor = 30)`)
      : [],
};

import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Batches that were deleted lately, for the event streams of all processes. */
export const deletedBatches: Migration = {
  version: 20,
  name: 'deleted-batches',
  statements: ({ text }: ColumnTypes) => [
    `CREATE TABLE deleted_batches (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      deleted_at bigint NOT NULL)`,
    'CREATE INDEX deleted_batches_by_time ON deleted_batches (deleted_at)',
  ],
};

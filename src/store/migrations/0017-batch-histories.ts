import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Progress and waits of batches over time. */
export const batchHistories: Migration = {
  version: 17,
  name: 'batch-histories',
  statements: ({ text, frequentlyUpdated }: ColumnTypes) => [
    // points and waits as JSON (core/batch-history.ts).
    `CREATE TABLE batch_histories (
      batch_id ${text} PRIMARY KEY,
      updated_at bigint NOT NULL,
      interval_ms bigint NOT NULL,
      points ${text} NOT NULL,
      waits ${text} NOT NULL,
      omitted_waits integer NOT NULL)${frequentlyUpdated}`,
  ],
};

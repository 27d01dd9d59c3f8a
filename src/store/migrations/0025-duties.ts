import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Lease on the work that one process does for all, and indexes for it. */
export const duties: Migration = {
  version: 25,
  name: 'duties',
  statements: ({ text }: ColumnTypes) => [
    `CREATE TABLE duties (
      name ${text} PRIMARY KEY,
      owner ${text} NOT NULL,
      until bigint NOT NULL,
      at_risk ${text} NOT NULL)`,
    // Batches whose chunks may be stranded, and the chunks of which one suffices to show that they are not.
    `CREATE INDEX batches_running ON batches (id) WHERE status = 'in_progress' AND closing IS NULL`,
    `CREATE INDEX batch_chunks_unfinished ON batch_chunks (batch_id)
     WHERE seq > 0 AND state IN ('ready', 'leased')`,
  ],
};

import type { Migration } from './migration.ts';

/** Estimated tokens of a batch, for the limits on queued tokens. */
export const queuedWork: Migration = {
  version: 8,
  name: 'queued-work',
  statements: () => [
    'ALTER TABLE batches ADD COLUMN est bigint NOT NULL DEFAULT 0',
    `UPDATE batches SET est = COALESCE((
       SELECT CAST(sum(c.est) AS bigint) FROM batch_chunks c WHERE c.batch_id = batches.id AND c.seq > 0), 0)
     WHERE status IN ('validating', 'in_progress', 'cancelling')`,
  ],
};

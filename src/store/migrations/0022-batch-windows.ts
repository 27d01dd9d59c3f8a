import type { Migration } from './migration.ts';

/** Length of the window of a batch; earlier ones had the configured one. */
export const batchWindows: Migration = {
  version: 22,
  name: 'batch-windows',
  statements: () => ['ALTER TABLE batches ADD COLUMN window_ms bigint'],
};

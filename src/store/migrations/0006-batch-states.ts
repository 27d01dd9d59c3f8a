import type { Migration } from './migration.ts';

/** Whose failed lines a batch is, since when it is paused, and how long it was before. */
export const batchStates: Migration = {
  version: 6,
  name: 'batch-states',
  statements: ({ text }) => [
    `ALTER TABLE batches ADD COLUMN retry_of ${text}`,
    'ALTER TABLE batches ADD COLUMN paused_at bigint',
    'ALTER TABLE batches ADD COLUMN paused_ms bigint NOT NULL DEFAULT 0',
  ],
};

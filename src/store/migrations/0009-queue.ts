import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** The queue is the index of ready chunks, and what each org was given of each model is remembered. */
export const queue: Migration = {
  version: 9,
  name: 'queue',
  statements: ({ text }: ColumnTypes) => [
    'DROP INDEX batches_by_due',
    'DROP INDEX batches_ending',

    // Org and urgency are those of the batch; n is the number of lines.
    `ALTER TABLE batch_chunks ADD COLUMN org_id ${text} NOT NULL DEFAULT ''`,
    'ALTER TABLE batch_chunks ADD COLUMN due bigint NOT NULL DEFAULT 0',
    'ALTER TABLE batch_chunks ADD COLUMN n integer NOT NULL DEFAULT 1',
    `UPDATE batch_chunks SET org_id = b.org_id, due = b.due,
      n = (length(lines) - length(replace(lines, '],[', ''))) / 3 + 1
      FROM batches b
      WHERE b.id = batch_chunks.batch_id AND b.status IN ('validating', 'in_progress', 'cancelling')`,
    'DROP INDEX batch_chunks_ready',
    `CREATE INDEX batch_chunks_ready ON batch_chunks (model, org_id, due, batch_id, kills, seq)
      WHERE state = 'ready' AND seq > 0`,
    "CREATE INDEX batch_chunks_to_close ON batch_chunks (due, batch_id) WHERE state = 'ready' AND seq = 0",

    // One row a model: its virtual time in estimated tokens, and the lock of whoever chooses among its orgs.
    `CREATE TABLE queues (
      model ${text} PRIMARY KEY,
      virtual_time bigint NOT NULL)`,
    `CREATE TABLE queue_shares (
      model ${text} NOT NULL,
      org_id ${text} NOT NULL,
      served bigint NOT NULL,
      PRIMARY KEY (model, org_id))`,
  ],
};

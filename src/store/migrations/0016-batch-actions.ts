import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Actions on many batches. `ids`, `options`, `failures` and `actor` are JSON; `org_id` is null for those of operators. */
export const batchActions: Migration = {
  version: 16,
  name: 'batch-actions',
  statements: ({ text, frequentlyUpdated }: ColumnTypes) => [
    `CREATE TABLE batch_actions (
      id ${text} PRIMARY KEY,
      org_id ${text},
      key_id ${text} NOT NULL,
      key_family ${text},
      options ${text} NOT NULL,
      status ${text} NOT NULL,
      total integer NOT NULL,
      position integer NOT NULL,
      done integer NOT NULL,
      failed integer NOT NULL,
      skipped integer NOT NULL,
      failures ${text} NOT NULL,
      actor ${text},
      owner ${text},
      lease_until bigint NOT NULL,
      created_at bigint NOT NULL,
      ended_at bigint,
      ids ${text} NOT NULL)${frequentlyUpdated}`,
    "CREATE INDEX batch_actions_running ON batch_actions (created_at, id) WHERE status = 'running'",
    'CREATE INDEX batch_actions_ended ON batch_actions (ended_at) WHERE ended_at IS NOT NULL',
  ],
};

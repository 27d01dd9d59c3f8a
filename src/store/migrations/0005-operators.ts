import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Pauses and drains of operators, and indexes for their lists of the batches of all orgs. */
export const operators: Migration = {
  version: 5,
  name: 'operators',
  statements: ({ text }: ColumnTypes) => [
    // model and org_id: '' for all.
    `CREATE TABLE batch_pauses (
      model ${text} NOT NULL,
      org_id ${text} NOT NULL,
      since bigint NOT NULL,
      key_id ${text} NOT NULL,
      PRIMARY KEY (model, org_id))`,
    `CREATE TABLE replica_drains (
      id ${text} PRIMARY KEY,
      model ${text} NOT NULL,
      server ${text} NOT NULL,
      since bigint NOT NULL,
      key_id ${text} NOT NULL)`,
    // An expression, so that the planner prefers other indexes where the status is one of several conditions.
    "CREATE INDEX batches_of_status ON batches ((status || ''), id)",
    'CREATE INDEX batches_of_model ON batches (model, id)',
    'CREATE INDEX batches_of_creation ON batches (created_at, id)',
    "CREATE INDEX batches_open ON batches (id) WHERE status IN ('validating', 'in_progress', 'cancelling')",
  ],
};

import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Caps of operators on the requests in flight of replicas. */
export const replicaCaps: Migration = {
  version: 23,
  name: 'replica-caps',
  statements: ({ text }: ColumnTypes) => [
    `CREATE TABLE replica_caps (
      id ${text} PRIMARY KEY,
      model ${text} NOT NULL,
      server ${text} NOT NULL,
      max_in_flight bigint NOT NULL,
      since bigint NOT NULL,
      key_id ${text} NOT NULL)`,
  ],
};

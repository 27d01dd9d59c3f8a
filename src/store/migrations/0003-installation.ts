import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

export const installation: Migration = {
  version: 3,
  name: 'installation',
  statements: ({ text }: ColumnTypes) => [
    // At most one row. The folder of the blobs bears the same id.
    `CREATE TABLE installation (
      one integer PRIMARY KEY CHECK (one = 1),
      id ${text} NOT NULL,
      made_at bigint NOT NULL)`,

    // Blobs whose file row is gone, until they are gone too: what was deleted is not kept because a process died.
    `CREATE TABLE removed_blobs (
      blob_id ${text} PRIMARY KEY,
      removed_at bigint NOT NULL)`,
  ],
};

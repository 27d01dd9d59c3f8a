import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Use of the limits of single requests, for processes that share a database. */
export const limits: Migration = {
  version: 6,
  name: 'limits',
  statements: ({ text, frequentlyUpdated }: ColumnTypes) => [
    // id of an org or a key. used: meters and places in flight as JSON (core/shared-use.ts).
    `CREATE TABLE limit_use (
      id ${text} PRIMARY KEY,
      used ${text} NOT NULL,
      used_at bigint NOT NULL)${frequentlyUpdated}`,
  ],
};

import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** What processes that share a database know of each other. */
export const fleet: Migration = {
  version: 7,
  name: 'fleet',
  statements: ({ text }: ColumnTypes) => [
    // Models that chunks name and no process serves: since when, and when that was seen last.
    `CREATE TABLE missing_models (
      model ${text} PRIMARY KEY,
      since bigint NOT NULL,
      seen_at bigint NOT NULL)`,

    // Who may have how many lines of a model in flight, as JSON (slot-leases.ts): one row is one lock.
    `CREATE TABLE slot_leases (
      model ${text} PRIMARY KEY,
      leases ${text} NOT NULL)`,
  ],
};

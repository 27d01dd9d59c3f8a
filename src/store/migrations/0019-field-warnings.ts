import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Unknown fields of the requests of input files and batches, as JSON (core/field-warning.ts). */
export const fieldWarnings: Migration = {
  version: 19,
  name: 'field-warnings',
  statements: ({ text }: ColumnTypes) =>
    ['files', 'batches'].map(
      (table) => `ALTER TABLE ${table} ADD COLUMN warnings ${text} NOT NULL DEFAULT '[]'`,
    ),
};

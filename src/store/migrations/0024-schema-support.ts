import type { Migration } from './migration.ts';

/**
 * Oldest schema version whose servers still run on this database. A migration that contracts the schema raises it:
 * `UPDATE schema_support SET oldest = <version>`.
 */
export const schemaSupport: Migration = {
  version: 24,
  name: 'schema-support',
  statements: () => [
    'CREATE TABLE schema_support (oldest integer PRIMARY KEY)',
    'INSERT INTO schema_support (oldest) VALUES (24)',
  ],
};

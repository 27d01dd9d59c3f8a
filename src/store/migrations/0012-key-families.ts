import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Families of rotated keys, and indexes for what every process reads once a second. */
export const keyFamilies: Migration = {
  version: 12,
  name: 'key-families',
  statements: ({ text }: ColumnTypes) => [
    // family, key_family: first key of the family; null for that key itself.
    `ALTER TABLE api_keys ADD COLUMN family ${text}`,
    `ALTER TABLE api_keys ADD COLUMN replaced_by ${text}`,
    `ALTER TABLE batches ADD COLUMN key_family ${text}`,
    'CREATE INDEX api_keys_by_family ON api_keys (family) WHERE family IS NOT NULL',
    `CREATE INDEX batches_open_by_family ON batches ((COALESCE(key_family, key_id)))
     WHERE status IN ('validating', 'in_progress', 'cancelling')`,

    'CREATE INDEX api_keys_with_budget ON api_keys (id) WHERE budget IS NOT NULL',
    'CREATE INDEX orgs_with_budget ON orgs (id) WHERE budget IS NOT NULL',
    'CREATE INDEX orgs_disabled ON orgs (id) WHERE disabled_at IS NOT NULL',

    // Time of the last commit; null for commits of earlier versions.
    'ALTER TABLE ledger_writers ADD COLUMN written_at bigint',
  ],
};

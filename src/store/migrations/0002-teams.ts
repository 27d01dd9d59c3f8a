import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Limits, weights and states of orgs and keys, and priorities of batches. */
export const teams: Migration = {
  version: 2,
  name: 'teams',
  statements: ({ text }: ColumnTypes) => [
    `ALTER TABLE orgs ADD COLUMN limits ${text} NOT NULL DEFAULT '{}'`,
    'ALTER TABLE orgs ADD COLUMN weight integer NOT NULL DEFAULT 1',
    'ALTER TABLE orgs ADD COLUMN disabled_at bigint',
    `ALTER TABLE api_keys ADD COLUMN limits ${text} NOT NULL DEFAULT '{}'`,
    'ALTER TABLE api_keys ADD COLUMN disabled_at bigint',
    'ALTER TABLE api_keys ADD COLUMN max_priority integer NOT NULL DEFAULT 9',
    'ALTER TABLE batches ADD COLUMN priority integer NOT NULL DEFAULT 5',
  ],
};

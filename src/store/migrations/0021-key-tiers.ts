import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Default tier of the single requests of a key. */
export const keyTiers: Migration = {
  version: 21,
  name: 'key-tiers',
  statements: ({ text }: ColumnTypes) => [`ALTER TABLE api_keys ADD COLUMN service_tier ${text}`],
};

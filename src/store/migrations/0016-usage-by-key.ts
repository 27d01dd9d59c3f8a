import type { Migration } from './migration.ts';

/** The key that usage is charged to. Rows from before this step have none. */
export const usageByKey: Migration = {
  version: 16,
  name: 'usage-by-key',
  statements: ({ text }) => [`ALTER TABLE usage_ledger ADD COLUMN key_id ${text}`],
};

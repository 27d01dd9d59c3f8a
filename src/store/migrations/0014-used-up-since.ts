import type { Migration } from './migration.ts';

/** Since when the budget of an org is used up, which every process tells alike. */
export const usedUpSince: Migration = {
  version: 14,
  name: 'used-up-since',
  statements: () => ['ALTER TABLE orgs ADD COLUMN used_up_at bigint'],
};

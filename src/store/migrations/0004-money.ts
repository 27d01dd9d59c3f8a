import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** The ledger in groups by the hour, and budgets of keys. */
export const money: Migration = {
  version: 4,
  name: 'money',
  statements: ({ text }: ColumnTypes) => [
    // day: an hour such as 2026-11-21T09, until the row is rolled up into its day. amount_rest: the part of the amount below a
    // nano-dollar, in its 10^12 parts.
    `ALTER TABLE usage_ledger ADD COLUMN endpoint ${text} NOT NULL DEFAULT ''`,
    `ALTER TABLE usage_ledger ADD COLUMN tag ${text} NOT NULL DEFAULT ''`,
    'ALTER TABLE usage_ledger ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0',
    'ALTER TABLE usage_ledger ADD COLUMN amount_rest bigint NOT NULL DEFAULT 0',
    'ALTER TABLE usage_ledger ADD COLUMN rolled_up integer NOT NULL DEFAULT 0',
    'CREATE INDEX usage_ledger_to_roll_up ON usage_ledger (day) WHERE rolled_up = 0',

    // Last commit of charges of each process, so that a repeated one adds nothing.
    `CREATE TABLE ledger_writers (
      id ${text} PRIMARY KEY,
      last_commit bigint NOT NULL)`,

    `ALTER TABLE batches ADD COLUMN tag ${text} NOT NULL DEFAULT ''`,

    // Soft budgets have budget_hard = 0. The table spending also has the sums of keys, under their ids.
    'ALTER TABLE orgs ADD COLUMN budget_hard integer NOT NULL DEFAULT 1',
    'ALTER TABLE api_keys ADD COLUMN budget bigint',
    `ALTER TABLE api_keys ADD COLUMN budget_period ${text}`,
    'ALTER TABLE api_keys ADD COLUMN budget_hard integer NOT NULL DEFAULT 1',
    'ALTER TABLE api_keys ADD COLUMN used_up_at bigint',
  ],
};

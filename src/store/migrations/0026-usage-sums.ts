import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Sums of the ledger by day and month. */
export const usageSums: Migration = {
  version: 26,
  name: 'usage-sums',
  statements: ({ text }: ColumnTypes) => [
    // level: day or month of an org; all: day of all orgs, whose org, key and tag are empty. key_id: empty for none. amount: whole
    // nano-dollars.
    `CREATE TABLE usage_sums (
      level ${text} NOT NULL,
      span ${text} NOT NULL,
      org_id ${text} NOT NULL,
      model ${text} NOT NULL,
      key_id ${text} NOT NULL,
      endpoint ${text} NOT NULL,
      tag ${text} NOT NULL,
      tier ${text} NOT NULL,
      requests bigint NOT NULL,
      input_tokens bigint NOT NULL,
      cached_tokens bigint NOT NULL,
      cache_write_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      reasoning_tokens bigint NOT NULL,
      amount bigint NOT NULL,
      PRIMARY KEY (level, span, org_id, model, key_id, endpoint, tag, tier))`,

    // rolled_up of a ledger row: 0 for an hour, 1 for a day; 2 and 3 if it is in the sums, where earlier versions roll up nothing.
    'CREATE INDEX usage_ledger_to_sum ON usage_ledger (day) WHERE rolled_up < 2',
    'CREATE INDEX usage_ledger_summed_hours ON usage_ledger (day) WHERE rolled_up = 2',
    // Earlier versions use the first of these.
    'DROP INDEX usage_ledger_to_roll_up',
    // A process of an earlier version that starts later would charge late requests to the ledger alone.
    'UPDATE schema_support SET oldest = 26',
  ],
};

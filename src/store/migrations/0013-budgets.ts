import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/**
 * Budgets, and what orgs spend by month: the sums of their ledger rows. Whatever is there already counts, but for batches that
 * were deleted, whose prices are gone.
 */
export const budgets: Migration = {
  version: 13,
  name: 'budgets',
  statements({ dialect, text }: ColumnTypes) {
    const isPostgres = dialect === 'postgres';
    const price = (name: string) =>
      `(${isPostgres ? 'CAST(b.prices AS json)' : 'b.prices'} -> l.model ->> '${name}')`;
    const amount = (name: string, tokens: string) => `${tokens} * CAST(${price(name)} AS numeric)`;
    return [
      'ALTER TABLE orgs ADD COLUMN budget bigint',
      `ALTER TABLE orgs ADD COLUMN budget_period ${text}`,
      `CREATE TABLE spending (
        org_id ${text} NOT NULL,
        month ${text} NOT NULL,
        amount bigint NOT NULL,
        PRIMARY KEY (org_id, month))`,
      // It is counted up as often as the ledger is.
      ...(isPostgres ? ['ALTER TABLE spending SET (fillfactor = 30)'] : []),
      `INSERT INTO spending (org_id, month, amount)
       SELECT l.org_id, substr(l.day, 1, 7), CAST(sum(COALESCE(l.amount, round((
         ${amount('input', '(l.input_tokens - l.cached_tokens)')} + ${amount('cachedInput', 'l.cached_tokens')}
         + ${amount('output', 'l.output_tokens')}) * CAST(b.price_factor AS numeric) / 1e6), 0)) AS bigint)
       FROM usage_ledger l LEFT JOIN batches b ON b.id = l.source_id
       GROUP BY l.org_id, substr(l.day, 1, 7)`,
    ];
  },
};

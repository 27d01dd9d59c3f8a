import { dayMs, utcDay } from '../../src/base/clock.ts';
import type { UsageQuery } from '../../src/core/usage-report.ts';
import type { Store } from '../../src/store/store.ts';
import { withClient } from './fill.ts';

export type UsageSpan = Pick<UsageQuery, 'start' | 'before'>;

export interface UsageOptions {
  /** Orgs, numbered as `fill` numbers them. */
  orgs: number;
  /** Batches that ended within the last year, each with one row in the ledger. */
  ended: number;
}

/** Rows per statement, and per addition to the sums. */
const slice = 100_000;
const summedAtOnce = 1_000;

/** Fills the ledger with batches that ended evenly over the last year, and adds them to the sums as a server does. */
export async function fillUsage(
  { ledger }: Pick<Store, 'ledger'>,
  database: string,
  { orgs, ended }: UsageOptions,
): Promise<UsageSpan> {
  await withClient(database, async (client) => {
    for (let from = 0; from < ended; from += slice)
      await client.query(
        `INSERT INTO usage_ledger (source_id, model, day, org_id, key_id, requests, input_tokens, cached_tokens, output_tokens,
           reasoning_tokens, amount, endpoint, rolled_up)
         SELECT 'batch_' || lpad(to_hex(n), 32, '0'), 'model-' || n % 3,
           to_char(now() AT TIME ZONE 'UTC' - interval '1 day' * (1 + 364.0 * n / ${ended}), 'YYYY-MM-DD'),
           'org_' || lpad(to_hex(n % ${orgs}), 32, '0'), 'key_' || lpad(to_hex(n % ${orgs}), 32, '0'),
           100, 20000, 500, 8000, 0, 1234567 + n, '/v1/chat/completions', 1
         FROM generate_series(${from}, ${Math.min(ended, from + slice) - 1}) AS n`,
      );
    // As a day after the upgrade of the last server.
    await client.query('UPDATE finished_upgrades SET finished_at = 0');
    await client.query('INSERT INTO finished_upgrades (version, finished_at) VALUES (1000000, 0)');
    while ((await ledger.addToSums('9999', summedAtOnce, 1)) > 0);
    await client.query('VACUUM ANALYZE usage_ledger, usage_sums');
  });
  return { start: utcDay(Date.now() - 365 * dayMs), before: utcDay(Date.now() + dayMs) };
}

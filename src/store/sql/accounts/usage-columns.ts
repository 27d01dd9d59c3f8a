import { costParts } from '../../../core/price.ts';
import {
  batchSource,
  flexSource,
  type UsageFilter,
  type UsageGroup,
  type UsageQuery,
} from '../../../core/usage-report.ts';
import { figureNames } from '../../../core/usage-sums.ts';
import type { Db, Queries } from '../../db.ts';
import { tuples } from '../statement.ts';
import type { Where } from '../table.ts';

/** Table with usage, and the SQL of its groups and of its amount in nano-dollars. */
export interface UsageTable {
  from: string;
  groups: Partial<Record<UsageGroup, string>>;
  amount: string;
}

const isOfBatch = `source_id LIKE '${batchSource.replace('_', '!_')}%' ESCAPE '!'`;

export function ledgerTable(db: Db): UsageTable {
  return {
    from: 'usage_ledger l',
    groups: {
      day: 'substr(day, 1, 10)',
      hour: 'day',
      endpoint: 'endpoint',
      tag: 'tag',
      model: 'model',
      org: 'org_id',
      key: "COALESCE(key_id, '')",
      batch: `CASE WHEN ${isOfBatch} THEN source_id ELSE '' END`,
      tier: `CASE WHEN ${isOfBatch} THEN 'batch' WHEN source_id LIKE '${flexSource}%' THEN 'flex' ELSE 'default' END`,
    },
    amount: billedAmount(db),
  };
}

export const sumsTable: UsageTable = {
  from: 'usage_sums',
  groups: {
    day: 'span',
    endpoint: 'endpoint',
    tag: 'tag',
    model: 'model',
    org: 'org_id',
    key: 'key_id',
    tier: 'tier',
  },
  amount: 'amount',
};

export const figureColumns: Record<(typeof figureNames)[number], string> = {
  requests: 'requests',
  inputTokens: 'input_tokens',
  cachedTokens: 'cached_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
};

/** Columns of the groups and figures of a row, with their names, and its amount. */
export function usageFields({ groups, amount }: UsageTable, wanted: UsageQuery['groups']): string {
  return [
    ...wanted.map((group) => `${groups[group]!} AS "${group}"`),
    ...figureNames.map((name) => `${figureColumns[name]} AS "${name}"`),
    `${amount} AS amount`,
  ].join(', ');
}

/** SQL conditions of a filter. */
export function matching({ groups }: UsageTable, filter: UsageFilter = {}): Where {
  const { orgs, keys, models, endpoints, exceptEndpoints, batch } = filter;
  const among = (column: string, values: readonly string[] | undefined, not = '') =>
    values && { [`${column} ${not} IN ${tuples(1, values.length)}`]: [...values] };
  return {
    ...among(groups.org!, orgs),
    ...among(groups.key!, keys),
    ...among(groups.model!, models),
    ...among(groups.endpoint!, endpoints),
    ...among(groups.endpoint!, exceptEndpoints, 'NOT'),
    ...(batch !== undefined && { [`${groups.tier!} ${batch ? '=' : '<>'} 'batch'`]: [] }),
  };
}

/** SQL: nano-dollars of a ledger row `l`. */
export function billedAmount(db: Db): string {
  const rounded = `amount + (CASE WHEN amount_rest * 2 >= ${costParts} THEN 1 ELSE 0 END)`;
  return `COALESCE(${rounded}, ${batchAmount(db)}, 0)`;
}

/** Writes the cost of a purged batch into its ledger rows, before its prices are removed with it. */
export async function freezeAmounts(q: Queries, db: Db, orgId: string, batchId: string): Promise<void> {
  await q.all(
    `UPDATE usage_ledger AS l SET amount = COALESCE(${batchAmount(db)}, 0)
     WHERE source_id = (SELECT id FROM batches WHERE id = ? AND org_id = ? AND purged = 1) AND amount IS NULL`,
    [batchId, orgId],
  );
}

/** SQL: cost of a ledger row `l` of version 0.1.0 at the prices of its batch, rounded half up as for budgets. */
export function batchAmount({ types: { dialect } }: Db): string {
  const prices =
    dialect === 'postgres' ? 'CAST(b.prices AS json)' : 'CASE WHEN json_valid(b.prices) THEN b.prices END';
  const amount = (price: string, tokens: string) => `${tokens} * CAST((p.value ->> '${price}') AS numeric)`;
  return `(SELECT CAST(round((${amount('input', '(l.input_tokens - l.cached_tokens)')}
      + ${amount('cachedInput', 'l.cached_tokens')} + ${amount('output', 'l.output_tokens')})
      * CAST(b.price_factor AS numeric) / 1e6) AS bigint)
    FROM batches b, json_each(${prices}) AS p WHERE b.id = l.source_id AND p.key = l.model)`;
}

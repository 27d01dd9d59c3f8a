import { tierOf } from '../../../core/usage-report.ts';
import { addUsage, type Usage } from '../../../core/usage.ts';
import type { LedgerRow } from '../../contract/accounts.ts';
import type { Queries } from '../../db.ts';
import { tableOf } from '../table.ts';
import { figureColumns } from './usage-columns.ts';
import type { SumLevel } from './usage-scans.ts';

interface SumKey {
  level: SumLevel;
  /** Such as `2026-11-21` or `2026-11`. */
  span: string;
  orgId: string;
  model: string;
  keyId: string;
  endpoint: string;
  tag: string;
  tier: string;
}

const sums = tableOf<SumKey & Usage & { requests: number; amount: string }>('usage_sums')(
  'level span orgId model keyId endpoint tag tier',
  'requests inputTokens cachedTokens cacheWriteTokens outputTokens reasoningTokens amount',
);

const onConflictAdd = `ON CONFLICT (level, span, org_id, model, key_id, endpoint, tag, tier) DO UPDATE SET
  ${[...Object.values(figureColumns), 'amount'].map((name) => `${name} = usage_sums.${name} + excluded.${name}`).join(', ')}`;

/** Usage of ledger rows that is added to the sums; its amount in whole nano-dollars. */
export type Summand = Omit<LedgerRow, 'amount'> & { amount: number };

/** Adds usage to the sums of all levels, in one lock order for all processes. */
export async function addToSums(q: Queries, summands: readonly Summand[]): Promise<void> {
  const groups = new Map<string, { key: SumKey; requests: number; usage: Usage; amount: bigint }>();
  for (const { requests, usage, amount, ...row } of summands)
    for (const key of keysOf(row)) {
      const name = Object.values(key).join('\0');
      const known = groups.get(name);
      if (!known) groups.set(name, { key, requests, usage, amount: BigInt(amount) });
      else {
        known.requests += requests;
        known.usage = addUsage(known.usage, usage);
        known.amount += BigInt(amount);
      }
    }
  const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
  await sums.insert(
    q,
    // Text, because an amount may exceed the safe integers.
    sorted.map(([, { key, requests, usage, amount }]) => ({
      ...key,
      requests,
      ...usage,
      amount: `${amount}`,
    })),
    onConflictAdd,
  );
}

function keysOf(row: Omit<Summand, 'requests' | 'usage' | 'amount'>): SumKey[] {
  const { sourceId, orgId, model, endpoint, tag } = row;
  const key = { orgId, model, keyId: row.keyId ?? '', endpoint, tag, tier: tierOf(sourceId) };
  const day = row.day.slice(0, 10);
  return [
    { level: 'all', span: day, ...key, orgId: '', keyId: '', tag: '' },
    { level: 'day', span: day, ...key },
    { level: 'month', span: day.slice(0, 7), ...key },
  ];
}

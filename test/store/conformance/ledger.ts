import { describe, expect, test } from 'vitest';
import type { LedgerRow } from '../../../src/store/contract/accounts.ts';
import type { Stores } from '../conformance.ts';
import { range } from '../fixtures.ts';

export function ledgerTests(on: Stores): void {
  const row = (fields: Partial<LedgerRow> = {}): LedgerRow => ({
    sourceId: 'req_1',
    orgId: 'org_a',
    model: 'm1',
    day: '2026-11-21',
    requests: 1,
    usage: { inputTokens: 12, cachedTokens: 4, outputTokens: 5 },
    amount: 9_007_199_254_740_991,
    ...fields,
  });

  describe('the ledger', () => {
    test('keeps what it is given', async () => {
      const rows = [row(), row({ sourceId: 'req_2', amount: 0 })];
      await on.store.ledger.add(rows);
      await on.store.ledger.add([]);
      expect(await on.store.ledger.of('req_1')).toEqual([rows[0]]);
      expect(await on.store.ledger.ofMany(['req_2', 'req_3', 'req_1'])).toEqual(rows);
      expect(await on.store.ledger.of('req_3')).toEqual([]);
      expect(await on.store.ledger.ofMany([])).toEqual([]);
    });

    test('bills a source once: not again, not twice in a call, not on the next day', async () => {
      await on.store.ledger.add([row(), row({ amount: 1 })]);
      await on.store.ledger.add([row({ amount: 2 }), row({ sourceId: 'req_2' })]);
      await on.store.ledger.add([row({ day: '2026-11-22' })]);
      expect(await on.store.ledger.of('req_1')).toEqual([row()]);
      expect(await on.store.ledger.of('req_2')).toHaveLength(1);
    });

    test('takes groups from several sides at once', async () => {
      const group = (from: number) => range(from, from + 100).map((i) => row({ sourceId: `req_${i}` }));
      await Promise.all([
        on.store.ledger.add(group(0)),
        on.other.ledger.add(group(50)),
        on.store.ledger.add(group(100)),
      ]);
      expect(await on.store.ledger.ofMany(range(0, 200).map((i) => `req_${i}`))).toHaveLength(200);
    });
  });
}

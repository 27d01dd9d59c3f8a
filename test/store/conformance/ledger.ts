import { describe, expect, test } from 'vitest';
import type { LedgerRow } from '../../../src/store/contract/accounts.ts';
import type { Stores } from '../conformance.ts';
import { readUsage } from '../../../src/accounts/usage.ts';
import type { UsageQuery, UsageReport } from '../../../src/core/usage-report.ts';
import { addBatch, claimOf, closeBatch, makeOrg, output, range, start } from '../fixtures.ts';

export function ledgerTests(on: Stores): void {
  const row = (fields: Partial<LedgerRow> = {}): LedgerRow => ({
    sourceId: 'req_1',
    keyId: 'key_a',
    orgId: 'org_a',
    model: 'm1',
    day: '2026-11-21',
    requests: 1,
    usage: { inputTokens: 12, cachedTokens: 4, outputTokens: 5, reasoningTokens: 2 },
    amount: 9_007_199_254_740_991,
    ...fields,
  });

  describe('the ledger', () => {
    test('keeps its entries', async () => {
      const rows = [row(), row({ sourceId: 'req_2', amount: 0 })];
      await on.store.ledger.add(rows);
      await on.store.ledger.add([]);
      expect(await on.store.ledger.forSource('req_1')).toEqual([rows[0]]);
      expect(await on.store.ledger.forSources(['req_2', 'req_3', 'req_1'])).toEqual(rows);
      expect(await on.store.ledger.forSource('req_3')).toEqual([]);
      expect(await on.store.ledger.forSources([])).toEqual([]);
    });

    test('bills a source once: not again, not twice in a call, not on the next day', async () => {
      await on.store.ledger.add([row(), row({ amount: 1 })]);
      await on.store.ledger.add([row({ amount: 2 }), row({ sourceId: 'req_2' })]);
      await on.store.ledger.add([row({ day: '2026-11-22' })]);
      expect(await on.store.ledger.forSource('req_1')).toEqual([row()]);
      expect(await on.store.ledger.forSource('req_2')).toHaveLength(1);
    });

    test('accepts groups concurrently', async () => {
      const group = (from: number) => range(from, from + 100).map((i) => row({ sourceId: `req_${i}` }));
      await Promise.all([
        on.store.ledger.add(group(0)),
        on.other.ledger.add(group(50)),
        on.store.ledger.add(group(100)),
      ]);
      expect(await on.store.ledger.forSources(range(0, 200).map((i) => `req_${i}`))).toHaveLength(200);
    });

    describe('is summed', () => {
      const november = {
        start: '2026-11-01',
        end: '2026-11-30',
        groups: ['day', 'model'],
        limit: 10,
      } as const;
      const usage = (query: Partial<UsageQuery> = {}) =>
        readUsage(on.store.ledger, { ...november, orgId: 'org_a', ...query });
      const keys = ({ rows }: UsageReport) => rows.map(({ groupValues: of }) => of.join(' '));
      const add = (...rows: Partial<LedgerRow>[]) =>
        on.store.ledger.add(rows.map((fields, n) => row({ sourceId: `req_u${n}`, amount: 5, ...fields })));

      test('by any combination of filters, for one org or for all', async () => {
        for (const id of ['org_a', 'org_b']) await on.store.orgs.insert(makeOrg({ id }));
        await add(
          {},
          { amount: 9_007_199_254_740_991 },
          { model: 'a,b/ü' },
          { day: '2026-11-30' },
          { day: '2026-11-01' },
          { day: '2026-12-01' },
          { day: '2026-10-31' },
          { orgId: 'org_b', amount: 7 },
        );
        const all = await usage();
        const once = {
          requests: 1,
          inputTokens: 12,
          cachedTokens: 4,
          outputTokens: 5,
          reasoningTokens: 2,
          amount: 5n,
        };
        const twice = { requests: 2, inputTokens: 24, cachedTokens: 8, outputTokens: 10, reasoningTokens: 4 };
        expect(all.rows).toEqual([
          { groupValues: ['2026-11-01', 'm1'], ...once },
          { groupValues: ['2026-11-21', 'a,b/ü'], ...once },
          { groupValues: ['2026-11-21', 'm1'], ...twice, amount: 9_007_199_254_740_996n },
          { groupValues: ['2026-11-30', 'm1'], ...once },
        ]);
        expect(all.hasMore).toBe(false);
        const sums = {
          requests: 5,
          inputTokens: 60,
          cachedTokens: 20,
          outputTokens: 25,
          reasoningTokens: 10,
        };
        expect(all.total).toEqual({ ...sums, amount: 9_007_199_254_741_011n });
        const { orgId: _, ...everybody } = { ...november, orgId: '' };
        const byOrg = await readUsage(on.store.ledger, { ...everybody, groups: ['org'] });
        expect(byOrg.rows.map(({ groupValues: of, amount }) => [...of, amount])).toEqual([
          ['org_a', all.total!.amount],
          ['org_b', 7n],
        ]);
        expect(byOrg.total).toMatchObject({ requests: 6, amount: all.total!.amount + 7n });
        expect(keys(await usage({ groups: ['model'] }))).toEqual(['a,b/ü', 'm1']);
        expect((await usage({ orgId: 'org_b' })).total).toEqual({ ...once, amount: 7n });
      });

      test('by key and by batch, either of which a row may lack', async () => {
        await on.store.orgs.insert(makeOrg({ id: 'org_a' }));
        const batch = await addBatch(on.store, { keyId: 'key_b' });
        await claimOf(on.store, 'w', batch.id);
        await on.store.results.record('w', [output(batch, 0)], [], Date.parse('2026-11-21'));
        await add({}, { keyId: null }, { keyId: 'key_b', amount: 7 });
        const requestsOf = async (groups: UsageQuery['groups']) =>
          (await usage({ groups })).rows.map(({ groupValues: of, requests }) => [...of, requests]);
        expect(await requestsOf(['key'])).toEqual([
          ['', 1],
          ['key_a', 1],
          ['key_b', 2],
        ]);
        expect(await requestsOf(['key', 'batch'])).toEqual([
          ['', '', 1],
          ['key_a', '', 1],
          ['key_b', '', 1],
          ['key_b', batch.id, 1],
        ]);
      });

      test('in pages, each of which reads only the days before the previous page', async () => {
        for (const id of ['org_a', 'org_b']) await on.store.orgs.insert(makeOrg({ id }));
        const day = (n: number) => `2026-11-${String(n).padStart(2, '0')}`;
        const days = range(1, 31).map(day);
        await add(...days.flatMap((each) => [{ day: each }, { day: each, orgId: 'org_b', model: 'm2' }]));
        const asked: string[] = [];
        const ledger: Pick<typeof on.store.ledger, 'usage'> = {
          usage(query, from) {
            asked.push(`${query.start} ${query.end}`);
            return on.store.ledger.usage(query, from);
          },
        };
        const { orgId: _, ...all } = { ...november, orgId: '', limit: 5 };
        const page = await readUsage(ledger, { ...all, after: [day(7), 'm1'] });
        const read = [7, 8, 8, 9, 9, 10]
          .map((n, at) => `${day(n)} ${at % 2 === 0 ? 'm2' : 'm1'}`)
          .slice(0, 5);
        expect([keys(page), page.hasMore]).toEqual([read, true]);
        expect([...new Set(asked)]).toEqual([
          `${day(7)} ${day(7)}`,
          `${day(8)} ${day(9)}`,
          `${day(10)} ${day(13)}`,
        ]);
        const last = await readUsage(on.store.ledger, { ...all, after: [day(28), 'm2'] });
        expect([keys(last).length, last.hasMore]).toEqual([4, false]);
        const none = await readUsage(on.store.ledger, { ...all, after: ['zzz', ''] });
        expect([keys(none), none.hasMore]).toEqual([[], false]);
        const whole = await readUsage(on.store.ledger, { ...all, after: ['', ''], limit: 100 });
        expect(keys(whole)).toEqual(keys(await readUsage(on.store.ledger, { ...all, limit: 100 })));
      });

      test('in pages, the first with the overall total, and empty without usage', async () => {
        await add({}, { model: 'm2' }, { day: '2026-11-22' });
        const pages: string[][] = [];
        let after: string[] | undefined;
        for (let more = true; more;) {
          const page = await usage({ limit: 1, ...(after && { after }) });
          if (after) expect(page.total).toBeNull();
          else expect(page.total).toMatchObject({ requests: 3, amount: 15n });
          pages.push(keys(page));
          after = page.rows.at(-1)!.groupValues;
          more = page.hasMore;
        }
        expect(pages).toEqual([['2026-11-21 m1'], ['2026-11-21 m2'], ['2026-11-22 m1']]);
        const none = {
          requests: 0,
          inputTokens: 0,
          cachedTokens: 0,
          outputTokens: 0,
          reasoningTokens: 0,
          amount: 0n,
        };
        expect(await usage({ orgId: 'org_c' })).toEqual({ rows: [], total: none, hasMore: false });
      });

      test('with the costs of batches as budgets count them, also after the batches are removed', async () => {
        await on.store.orgs.insert(makeOrg({ id: 'org_a' }), { amount: 1, period: 'month' });
        // Models whose names have a meaning in JSON paths, one priced at a third of a nano-dollar a token, and one without a
        // price.
        const price = { input: 66_667, cachedInput: 3, output: 7 };
        const models = ['gpt-4.1', '7', 'a"b', 'x/y:z', 'unpriced'];
        const prices = Object.fromEntries(models.slice(0, -1).map((model) => [model, price]));
        const batch = await addBatch(on.store, { prices });
        await claimOf(on.store, 'w', batch.id, { count: 2 });
        const used = { inputTokens: 100, cachedTokens: 1, outputTokens: 9, reasoningTokens: 0 };
        const results = models.map((model, line) => output(batch, line, { model, usage: used }));
        await on.store.results.record('w', results, [], start);
        await add({ amount: 70 });
        const before = await usage();
        expect(before.rows.map(({ groupValues: of, amount }) => [of[1], amount])).toEqual([
          ['7', 3n],
          ['a"b', 3n],
          ['gpt-4.1', 3n],
          ['m1', 70n],
          ['unpriced', 0n],
          ['x/y:z', 3n],
        ]);
        const [budget] = await on.store.orgs.budgets(start);
        expect(before.total!.amount).toBe(BigInt(budget!.spent));
        await on.store.batches.cancel('org_a', batch.id, start, 0);
        await closeBatch(on.store, batch.id);
        await on.store.results.purge(batch.id, 100);
        expect(await on.store.batches.remove('org_b', batch.id)).toBe(false);
        expect(await on.store.batches.remove('org_a', batch.id)).toBe(true);
        expect(await usage()).toEqual(before);
      });
    });
  });
}

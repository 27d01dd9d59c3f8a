import { describe, expect, test } from 'vitest';
import type { LedgerRow } from '../../../src/store/contract/accounts.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Stores } from '../conformance.ts';
import { singlesOf } from '../../../src/core/usage-report.ts';
import type { UsageQuery } from '../../../src/core/usage-report.ts';
import {
  addBatch,
  addToLedger,
  claimOf,
  closeBatch,
  hour,
  makeOrg,
  output,
  range,
  readUsageRows,
  start,
} from '../fixtures.ts';

/** Adds all rows of the ledger to the sums, a few at a time. */
export async function sumAll({ ledger, workers }: Pick<Store, 'ledger' | 'workers'>): Promise<void> {
  await workers.finishUpgrade(start);
  while ((await ledger.addToSums('9999', 7, start + 1)) === 7);
}

export function ledgerTests(on: Stores): void {
  const row = (fields: Partial<LedgerRow> = {}): LedgerRow => ({
    sourceId: 'req_1',
    keyId: 'key_a',
    orgId: 'org_a',
    model: 'm1',
    day: '2026-11-21T09',
    endpoint: '/v1/chat/completions',
    tag: '',
    requests: 1,
    usage: { inputTokens: 12, cachedTokens: 4, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 2 },
    amount: 9_007_199_254_740_991,
    ...fields,
  });

  describe('the ledger', () => {
    const one = { writer: 'a', number: 1 };

    test('keeps its entries', async () => {
      const rows = [row(), row({ sourceId: 'req_2', amount: 0 })];
      await addToLedger(on.store, rows);
      await addToLedger(on.store, []);
      expect(await on.store.ledger.forSources(['req_1'])).toEqual([rows[0]]);
      expect(await on.store.ledger.forSources(['req_2', 'req_3', 'req_1'])).toEqual(rows);
      expect(await on.store.ledger.forSources(['req_3'])).toEqual([]);
      expect(await on.store.ledger.forSources([])).toEqual([]);
    });

    test('tells its newest hour, or the month of older bills', async () => {
      const { ledger } = on.store;
      expect(await ledger.newest()).toBeNull();
      await addToLedger(on.store, [row({ day: '2026-11-21T10', amount: 5 }), row({ amount: 5 })]);
      expect(await on.other.ledger.newest()).toBe('2026-11-21T10');
      await sumAll(on.store);
      expect(await ledger.newest()).toBe('2026-11-21T10');
      await ledger.rollUp('2026-11-22', 10);
      expect(await ledger.newest()).toBe('2026-11');
    });

    test('adds a commit once, however often it is repeated', async () => {
      await addToLedger(on.store, [row({ amount: 5 })], one);
      await addToLedger(on.other, [row({ amount: 5 })], one);
      expect(await on.store.ledger.forSources(['req_1'])).toEqual([row({ amount: 5 })]);
      await addToLedger(on.store, [row({ amount: 6 })], { ...one, number: 2 });
      // A late repetition of the first.
      await addToLedger(on.store, [row({ amount: 5 })], one);
      await addToLedger(on.other, [row({ amount: 7 })], { ...one, writer: 'b' });
      expect(await on.store.ledger.forSources(['req_1'])).toMatchObject([{ requests: 3, amount: 18 }]);
    });

    test('adds up the charges of an hour, and rounds their sum once', async () => {
      const { amount: _, ...fields } = row();
      const third = { nano: 0, parts: 333_333_333_333 };
      // Ten times 0.33: 3.33, not ten times nothing.
      for (let number = 1; number <= 10; number++)
        await on.store.ledger.add([{ ...fields, cost: third }], { writer: 'a', number, at: start });
      expect(await on.store.ledger.forSources(['req_1'])).toMatchObject([{ requests: 10, amount: 3 }]);
      await on.store.orgs.insert(makeOrg({ id: 'org_a' }), { amount: 1, period: 'month' });
      expect((await on.store.orgs.budgets(start))[0]!.spent).toBe(3);
    });

    test('takes charges of several processes concurrently', async () => {
      const names = range(0, 200).map((i) => `req_${i}`);
      const group = (store: typeof on.store, writer: string, sources: string[]) =>
        addToLedger(
          store,
          sources.map((sourceId) => row({ sourceId, amount: 1 })),
          { writer, number: 1 },
        );
      await Promise.all([
        group(on.store, 'a', names),
        group(on.other, 'b', names.toReversed()),
        group(on.store, 'c', names),
      ]);
      const rows = await on.store.ledger.forSources(names);
      expect([rows.length, rows.reduce((sum, { amount }) => sum + amount!, 0)]).toEqual([200, 600]);
    });

    test('forgets commits of writers that wrote nothing for long, and of no others', async () => {
      const entry = { ...row(), cost: { nano: 1, parts: 0 } };
      const commit = (writer: string, at: number) => on.store.ledger.add([entry], { writer, number: 1, at });
      const repeated = async (writer: string) => {
        const requests = async () => (await on.store.ledger.forSources(['req_1']))[0]!.requests;
        const before = await requests();
        await commit(writer, start);
        return (await requests()) === before;
      };
      await commit('old', start);
      await commit('new', start + 1);
      await on.store.ledger.forgetWriters(start + 1, start + 1);
      expect([await repeated('new'), await repeated('old')]).toEqual([true, false]);
    });

    test('is rolled up by day in parts, with the same sums', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a' }), { amount: 1, period: 'total' });
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'w', batch.id, { count: 2 });
      for (const each of range(0, 4))
        await on.store.results.record('w', [output(batch, each)], [], start + each * hour);
      const { amount: _, ...fields } = row();
      const entries = range(0, 60).map((n) => ({
        ...fields,
        // Some of a version that wrote a row for each request and day.
        sourceId: n < 50 ? singlesOf(fields) : `req_${n}`,
        day: n < 50 ? `2026-11-${20 + (n % 3)}T${String(n % 24).padStart(2, '0')}` : '2026-11-21',
        cost: { nano: n, parts: n * 7_777_777_777 },
      }));
      for (const [n, entry] of entries.entries())
        await on.store.ledger.add([entry], { writer: 'a', number: n + 1, at: start });
      const all = { start: '2026-11-01', before: '2026-12-01', orgId: 'org_a', limit: 100 };
      const sums = () =>
        Promise.all(
          [['day', 'model'], ['key', 'endpoint', 'batch'], ['org']].map((groups) =>
            readUsageRows(on.store.ledger, { ...all, groups: groups as UsageQuery['groups'] }),
          ),
        );
      const before = await sums();
      const spent = (await on.store.orgs.budgets(start))[0]!.spent;
      expect(before[2]!.total!.amount).toBe(BigInt(spent));
      // Only hours in the sums.
      expect(await on.store.ledger.rollUp('2026-11-22', 7)).toBe(0);
      await sumAll(on.store);
      expect(await sums()).toEqual(before);
      const taken: number[] = [];
      while (taken.at(-1) !== 0) {
        taken.push(await on.store.ledger.rollUp('2026-11-22', 7));
        expect(await sums()).toEqual(before);
      }
      expect(taken.length).toBeGreaterThan(5);
      expect((await on.store.orgs.budgets(start))[0]!.spent).toBe(spent);
      const { rows } = await readUsageRows(on.store.ledger, { ...all, groups: ['hour', 'batch'] });
      expect(
        rows.filter(({ groupValues: [of] }) => of! < '2026-11-22').map(({ groupValues: of }) => of),
      ).toEqual([
        ['2026-11-20', ''],
        ['2026-11-21', ''],
        ['2026-11-21', batch.id],
      ]);
      expect(rows.some(({ groupValues: [of] }) => of!.startsWith('2026-11-22T'))).toBe(true);
    });

    describe('is summed', () => {
      const november = {
        start: '2026-11-01',
        before: '2026-12-01',
        groups: ['day', 'model'],
        limit: 10,
      } as const;
      const usage = (query: Partial<UsageQuery> = {}) =>
        readUsageRows(on.store.ledger, { ...november, orgId: 'org_a', ...query });
      const keys = ({ rows }: Awaited<ReturnType<typeof usage>>) =>
        rows.map(({ groupValues: of }) => of.join(' '));
      const add = (...rows: Partial<LedgerRow>[]) =>
        addToLedger(
          on.store,
          rows.map((fields, n) => row({ sourceId: `req_u${n}`, amount: 5, ...fields })),
        );

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
          cacheWriteTokens: 0,
          outputTokens: 5,
          reasoningTokens: 2,
          amount: 5n,
        };
        const twice = {
          requests: 2,
          inputTokens: 24,
          cachedTokens: 8,
          cacheWriteTokens: 0,
          outputTokens: 10,
          reasoningTokens: 4,
        };
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
          cacheWriteTokens: 0,
          outputTokens: 25,
          reasoningTokens: 10,
        };
        expect(all.total).toEqual({ ...sums, amount: 9_007_199_254_741_011n });
        const { orgId: _, ...everybody } = { ...november, orgId: '' };
        const byOrg = await readUsageRows(on.store.ledger, { ...everybody, groups: ['org'] });
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

      test('by tier, which follows from the source', async () => {
        await on.store.orgs.insert(makeOrg({ id: 'org_a' }));
        const batch = await addBatch(on.store);
        await claimOf(on.store, 'w', batch.id);
        await on.store.results.record('w', [output(batch, 0)], [], Date.parse('2026-11-21'));
        const of = { keyId: 'key_a', endpoint: '/v1/messages', tag: '' };
        const sources = [
          singlesOf(of),
          singlesOf({ ...of, tier: 'default' }),
          singlesOf({ ...of, tier: 'flex' }),
        ];
        expect(sources[0]).toBe(sources[1]);
        await add({}, ...[...new Set(sources)].map((sourceId) => ({ sourceId })));
        const requestsOf = async (groups: UsageQuery['groups']) =>
          (await usage({ groups })).rows.map(({ groupValues: values, requests }) => [...values, requests]);
        const expected = [
          ['batch', batch.id, 1],
          ['default', '', 2],
          ['flex', '', 1],
        ];
        expect(await requestsOf(['tier', 'batch'])).toEqual(expected);
        await sumAll(on.store);
        await on.store.ledger.rollUp('2026-11-22', 10);
        expect(await requestsOf(['tier', 'batch'])).toEqual(expected);
        expect(await requestsOf(['tier'])).toEqual([
          ['batch', 1],
          ['default', 2],
          ['flex', 1],
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
            asked.push(`${query.start} ${query.before}`);
            return on.store.ledger.usage(query, from);
          },
        };
        const { orgId: _, ...all } = { ...november, orgId: '', limit: 5 };
        const page = await readUsageRows(ledger, { ...all, after: [day(7), 'm1'] });
        const read = [7, 8, 8, 9, 9, 10]
          .map((n, at) => `${day(n)} ${at % 2 === 0 ? 'm2' : 'm1'}`)
          .slice(0, 5);
        expect([keys(page), page.hasMore]).toEqual([read, true]);
        expect([...new Set(asked)]).toEqual([
          `${day(7)} ${day(8)}`,
          `${day(8)} ${day(10)}`,
          `${day(10)} ${day(14)}`,
        ]);
        const last = await readUsageRows(on.store.ledger, { ...all, after: [day(28), 'm2'] });
        expect([keys(last).length, last.hasMore]).toEqual([4, false]);
        const none = await readUsageRows(on.store.ledger, { ...all, after: ['zzz', ''] });
        expect([keys(none), none.hasMore]).toEqual([[], false]);
        const whole = await readUsageRows(on.store.ledger, { ...all, after: ['', ''], limit: 100 });
        expect(keys(whole)).toEqual(keys(await readUsageRows(on.store.ledger, { ...all, limit: 100 })));
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
          cacheWriteTokens: 0,
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
        const used = {
          inputTokens: 100,
          cachedTokens: 1,
          cacheWriteTokens: 0,
          outputTokens: 9,
          reasoningTokens: 0,
        };
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
        expect(await on.store.batches.remove('org_b', batch.id, start)).toBe(false);
        expect(await on.store.batches.remove('org_a', batch.id, start)).toBe(true);
        expect(await usage()).toEqual(before);
      });
    });
  });
}

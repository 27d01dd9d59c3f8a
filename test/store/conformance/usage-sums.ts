import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costParts } from '../../../src/core/price.ts';
import {
  singlesOf,
  tierOf,
  type UsageFilter,
  type UsageGroup,
  usageGroups,
  type UsageQuery,
} from '../../../src/core/usage-report.ts';
import { addUsage } from '../../../src/core/usage.ts';
import type { LedgerEntry } from '../../../src/store/contract/accounts.ts';
import type { Stores } from '../conformance.ts';
import { makeOrg, readUsageRows, start } from '../fixtures.ts';

const orgs = ['org_a', 'org_b'];
const models = ['m1', 'm2'];
const endpoints = ['/v1/chat/completions', '/v1/embeddings'];
const days = ['2026-09-30', '2026-10-01', '2026-10-31', '2026-11-01', '2026-12-31'];
const edges = [
  '2026-09-30',
  '2026-10-01',
  '2026-10-02',
  '2026-11-01',
  '2026-11-02',
  '2026-12-01',
  '2027-01-01',
];

const entry: fc.Arbitrary<LedgerEntry> = fc
  .record({
    n: fc.nat({ max: 2 }),
    kind: fc.constantFrom('batch', 'batch', 'default', 'flex'),
    model: fc.constantFrom(...models),
    day: fc.constantFrom(...days),
    hour: fc.constantFrom('T00', 'T23'),
    tag: fc.constantFrom('', 'x'),
    requests: fc.integer({ min: 1, max: 9 }),
    tokens: fc.array(fc.nat({ max: 1_000_000 }), { minLength: 5, maxLength: 5 }),
    nano: fc.nat({ max: 2 ** 40 }),
    parts: fc.integer({ min: 0, max: costParts - 1 }),
  })
  .map(({ n, kind, model, day, hour, tag, requests, tokens, nano, parts }): LedgerEntry => {
    const of = { keyId: n === 2 ? null : `key_${n}`, endpoint: endpoints[n % 2]!, tag };
    const [inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens] = tokens as [
      number,
      number,
      number,
      number,
      number,
    ];
    return {
      ...of,
      // A batch has one endpoint and tag.
      ...(kind === 'batch'
        ? { sourceId: `batch_${n}`, tag: '' }
        : { sourceId: singlesOf({ ...of, tier: kind === 'flex' ? 'flex' : 'default' }) }),
      orgId: orgs[n % 2]!,
      model,
      day: `${day}${hour}`,
      requests,
      usage: { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens },
      cost: { nano, parts },
    };
  });

type Act =
  | { do: 'charge'; entries: LedgerEntry[] }
  /** Two processes at once. */
  | { do: 'sum'; before: string; limits: [number, number] }
  | { do: 'rollUp'; before: string; limit: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('charge' as const),
      entries: fc.array(entry, { minLength: 4, maxLength: 20 }),
    }),
  },
  fc.record({
    do: fc.constant('sum' as const),
    before: fc.constantFrom('2026-10-15T09', '2026-11-01T01', '9999'),
    limits: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 40 })),
  }),
  fc.record({
    do: fc.constant('rollUp' as const),
    before: fc.constantFrom('2026-10-31', '9999'),
    limit: fc.integer({ min: 1, max: 20 }),
  }),
);

/** One statement adds an hour of a source and model once. */
function distinct(entries: readonly LedgerEntry[]): LedgerEntry[] {
  return [...new Map(entries.map((each) => [`${each.sourceId} ${each.model} ${each.day}`, each])).values()];
}

const subset = <T>(values: readonly T[]) =>
  fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined });

const query: fc.Arbitrary<UsageQuery> = fc
  .record({
    from: fc.nat({ max: edges.length - 2 }),
    length: fc.integer({ min: 1, max: edges.length }),
    groups: fc.shuffledSubarray(usageGroups.filter((group) => group !== 'hour')),
    orgId: fc.option(fc.constantFrom(...orgs), { nil: undefined }),
    orgs: subset(orgs),
    keys: subset(['key_0', 'key_1']),
    models: subset(models),
    endpoints: subset(endpoints),
    exceptEndpoints: subset(endpoints),
    batch: fc.option(fc.boolean(), { nil: undefined }),
    limit: fc.constantFrom(3, 1_000),
  })
  .map(({ from, length, groups, orgId, limit, ...filter }) => ({
    start: edges[from]!,
    before: edges[Math.min(from + length, edges.length - 1)]!,
    groups,
    ...(orgId !== undefined && { orgId }),
    filter: JSON.parse(JSON.stringify(filter)) as UsageFilter,
    limit,
  }));

const everything: UsageQuery = { start: '2026-01-01', before: '2027-01-02', groups: [], limit: 1 };

/** Figures of two charges. */
function added(a: Hour, b: Omit<LedgerEntry, 'cost'>): Pick<Hour, 'requests' | 'usage'> {
  return { requests: a.requests + b.requests, usage: addUsage(a.usage, b.usage) };
}

/** Hours of a source and model, whose sum is rounded once. */
interface Hour extends Omit<LedgerEntry, 'cost'> {
  parts: bigint;
}

/** The same report, from the charges. */
function expected(
  hours: readonly Hour[],
  { start: from, before, groups, orgId, filter = {}, limit }: UsageQuery,
) {
  const { orgs: ofOrgs, keys, models: ofModels, endpoints: at, exceptEndpoints, batch } = filter;
  const among = <T>(values: readonly T[] | undefined, value: T) =>
    values === undefined || values.includes(value);
  const valueOf = (row: Hour): Record<Exclude<UsageGroup, 'hour'>, string> => ({
    day: row.day.slice(0, 10),
    model: row.model,
    org: row.orgId,
    key: row.keyId ?? '',
    endpoint: row.endpoint,
    batch: row.sourceId.startsWith('batch_') ? row.sourceId : '',
    tier: tierOf(row.sourceId),
    tag: row.tag,
  });
  const taken = hours.filter(
    (row) =>
      row.day >= from &&
      row.day < before &&
      (orgId === undefined || row.orgId === orgId) &&
      among(ofOrgs, row.orgId) &&
      among(keys, row.keyId ?? '') &&
      among(ofModels, row.model) &&
      among(at, row.endpoint) &&
      !(exceptEndpoints?.includes(row.endpoint) ?? false) &&
      (batch === undefined || (tierOf(row.sourceId) === 'batch') === batch),
  );
  const sum = (rows: readonly Hour[]) => {
    const of = (figure: (row: Hour) => number) => rows.reduce((total, row) => total + figure(row), 0);
    const half = BigInt(costParts);
    return {
      requests: of((row) => row.requests),
      inputTokens: of((row) => row.usage.inputTokens),
      cachedTokens: of((row) => row.usage.cachedTokens),
      cacheWriteTokens: of((row) => row.usage.cacheWriteTokens),
      outputTokens: of((row) => row.usage.outputTokens),
      reasoningTokens: of((row) => row.usage.reasoningTokens),
      amount: rows.reduce((total, { parts }) => total + (parts * 2n + half) / (half * 2n), 0n),
    };
  };
  const grouped = Map.groupBy(taken, (row) => {
    const values = valueOf(row);
    return groups.map((group) => values[group as keyof typeof values]).join('\0');
  });
  const rows = [...grouped]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, each]) => ({ groupValues: key.split('\0'), ...sum(each) }));
  return { rows: rows.slice(0, limit), total: sum(taken), hasMore: rows.length > limit };
}

export function usageSumTests(on: Stores): void {
  describe('the sums of usage', () => {
    test('make every report what the charges are, whatever is summed and rolled up when', async () => {
      let writer = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(act, { minLength: 4, maxLength: 12 }),
          fc.array(query, { minLength: 6, maxLength: 6 }),
          async (acts, queries) => {
            await on.reset();
            await on.store.workers.finishUpgrade(start);
            for (const id of orgs)
              await on.store.orgs.insert(makeOrg({ id }), { amount: 1, period: 'total' });
            const hours = new Map<string, Hour>();
            writer++;
            let rolledUp = false;
            for (const [n, each] of acts.entries()) {
              if (each.do === 'charge') {
                // An hour that comes again after it was rolled up is rounded again.
                const entries = distinct(each.entries).map((one) =>
                  rolledUp ? { ...one, cost: { ...one.cost, parts: 0 } } : one,
                );
                const [store, other] = n % 2 === 0 ? [on.store, on.other] : [on.other, on.store];
                // While the other process adds to the sums.
                await Promise.all([
                  store.ledger.add(entries, { writer: `w${writer}`, number: n + 1, at: start }),
                  other.ledger.addToSums('9999', n, start + 1),
                ]);
                for (const { cost, ...row } of entries) {
                  const key = `${row.sourceId} ${row.model} ${row.day}`;
                  const parts = BigInt(cost.nano) * BigInt(costParts) + BigInt(cost.parts);
                  const known = hours.get(key);
                  hours.set(
                    key,
                    known
                      ? { ...known, ...added(known, row), parts: known.parts + parts }
                      : { ...row, parts },
                  );
                }
              } else if (each.do === 'sum')
                await Promise.all(
                  [on.store, on.other].map((store, of) =>
                    store.ledger.addToSums(each.before, each.limits[of]!, start + 1),
                  ),
                );
              else if ((await on.other.ledger.rollUp(each.before, each.limit)) > 0) rolledUp = true;
            }
            for (const asked of queries) {
              const report = await readUsageRows(on.store.ledger, asked);
              expect(report).toEqual(expected([...hours.values()], asked));
            }
            const spent = (await on.store.orgs.budgets(start)).map((budget) => budget.spent);
            const { total } = expected([...hours.values()], everything);
            expect(BigInt(spent.reduce((sum, each) => sum + each, 0))).toBe(total.amount);
          },
        ),
        { numRuns: 40 },
      );
    });
  });
}

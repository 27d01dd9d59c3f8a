import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import type { Db, Queries } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createSqlStore, type StoreOperations } from '../../src/store/sql/sql-store.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import type { UsageQuery } from '../../src/core/usage-report.ts';
import type { Store } from '../../src/store/store.ts';
import {
  addBatch,
  addToLedger,
  claimOf,
  lease,
  makeChunks,
  makeOrg,
  output,
  readUsageRows,
  start,
} from './fixtures.ts';

/**
 * Each statement is a round trip to a database on another machine, so the number of statements is the cost of an operation.
 */
describe('trips to the database', () => {
  let db: Db;
  let store: StoreOperations;
  let trips: number;
  /** Rows returned in transactions. */
  let rowsRead: number;
  /** Query plans of statements outside a transaction. */
  let plan: { detail: string }[];

  beforeEach(async () => {
    db = openSqlite(':memory:', systemClock);
    await migrate(db);
    const counted = (q: Queries): Queries => ({
      ...q,
      async all(...args) {
        trips++;
        const rows = await q.all<never>(...args);
        rowsRead += rows.length;
        return rows;
      },
    });
    const watched: Db['all'] = async (sql, params) => {
      plan.push(...(await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params)));
      return db.all(sql, params);
    };
    store = createSqlStore({ ...db, all: watched, tx: (work) => db.tx((q) => work(counted(q))) });
    plan = [];
    trips = 0;
    rowsRead = 0;
  });
  afterEach(() => db.close());

  /** Records a line of each of `batches` batches, and the end of a chunk of each. */
  const recordInto = async (batches: number): Promise<number> => {
    const [results, finished] = [[], []] as [ReturnType<typeof output>[], ReturnType<typeof lease>[]];
    for (let n = 0; n < batches; n++) {
      const batch = await addBatch(store as Store);
      const [chunk] = await claimOf(store as Store, 'w', batch.id);
      results.push(output(batch, 0), output(batch, 1));
      finished.push(lease(chunk!));
    }
    trips = 0;
    const outcomes = await store.results.record('w', results, finished, start);
    expect(outcomes.map(({ kept }) => kept)).toEqual(Array(batches).fill(2));
    const taken = trips;
    expect(await store.workers.leases('w')).toEqual([]);
    return taken;
  };

  test('recording many batches takes as many as recording one', async () => {
    const one = await recordInto(1);
    expect(await recordInto(128)).toBe(one);
  });

  test('renewing the leases of many models takes as many as renewing one', async () => {
    const renew = async (models: number) => {
      const request = { limit: 8, wants: 4, inFlight: 1 };
      const asks = Object.fromEntries(Array.from({ length: models }, (_, n) => [`m${n}`, request]));
      const call = () => store.workers.leaseSlots('w', asks, start);
      await call();
      trips = 0;
      const shares = await call();
      expect(Object.values(shares).map(({ lines }) => lines)).toEqual(Array(models).fill(4));
      return trips;
    };
    expect(await renew(1)).toBe(2);
    expect(await renew(32)).toBe(2);
    expect(await renew(0)).toBe(0);
  });

  test('a claim reads as many rows among many orgs as among few', async () => {
    const costOf = async (model: string, orgs: number) => {
      for (let n = 0; n < orgs; n++)
        await addBatch(store as Store, { orgId: `org_${n}`, total: 4 }, (batch) =>
          makeChunks(batch, 4, model),
        );
      [trips, rowsRead] = [0, 0];
      const wish = { model, names: [model], lines: 8, chunks: 0, claimedDue: {}, moreOrgs: 0 };
      const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
      const { chunks } = await store.batches.claim('w', [wish], { now: start, suspects });
      expect(chunks).toHaveLength(2);
      return { trips, rowsRead };
    };
    expect(await costOf('many', 500)).toEqual(await costOf('few', 40));
  });

  test.each([
    [
      'of an endpoint',
      { endpoint: '/v1/messages' as const },
      ['batches USING INDEX batches_by_endpoint (org_id=? AND endpoint=? AND id<?)'],
    ],
    [
      'of a status',
      { status: 'failed' as const },
      ['batches USING INDEX batches_by_status (org_id=? AND status=? AND id<?)'],
    ],
    [
      'of a status since an instant',
      { status: 'failed' as const, createdAfter: start },
      [
        // The batches since the instant are few.
        'batches USING INDEX batches_by_org (org_id=? AND id>? AND id<?)',
        'batches USING COVERING INDEX batches_by_creation (org_id=? AND created_at>?)',
      ],
    ],
    [
      'since an instant',
      { createdAfter: start },
      [
        'batches USING INDEX batches_by_org (org_id=? AND id>? AND id<?)',
        'batches USING COVERING INDEX batches_by_creation (org_id=? AND created_at>?)',
      ],
    ],
  ])('batches %s are found without a scan of the others', async (_, query, expected) => {
    await store.batches.list('org_a', { limit: 20, ...query });
    const searches = plan
      .map(({ detail }) => detail)
      .filter((detail) => /^(SEARCH|SCAN) batches|TEMP B-TREE/.test(detail));
    expect(searches).toEqual(expected.map((search) => `SEARCH ${search}`));
  });

  describe('usage is found a part at a time', () => {
    const days = ['2026-11-01', '2026-11-02', '2026-11-30'];
    const november = { start: '2026-11-01', before: '2026-12-01', limit: 2_000 } as const;
    const inOrder = ['day>? AND day<?', 'day=? AND rowid>?'];
    const searchSums = 'usage_sums USING INDEX sqlite_autoindex_usage_sums_1 (level=? AND span=?';

    beforeEach(async () => {
      const used = {
        requests: 1,
        usage: { inputTokens: 3, cachedTokens: 1, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 },
        amount: 5,
      };
      for (const id of ['org_a', 'org_b', 'org_c']) await store.orgs.insert(makeOrg({ id }));
      await addToLedger(
        store,
        Array.from({ length: 25_000 }, (_, n) => ({
          ...used,
          sourceId: `req_${n}`,
          keyId: `key_${n % 1_000}`,
          model: `m${n % 2}`,
          day: days[Math.floor(n / 10) % 3]!,
          orgId: n < 24_000 ? 'org_a' : 'org_c',
        })),
      );
    });

    /** Plan, parts and report. */
    const read = async (query: Pick<UsageQuery, 'groups' | 'orgId'>) => {
      plan = [];
      let parts = 0;
      const ledger = {
        usage: (...asked: Parameters<typeof store.ledger.usage>) => (parts++, store.ledger.usage(...asked)),
      };
      const { rows, total } = await readUsageRows(ledger, { ...november, ...query });
      const requests = query.orgId === undefined ? 25_000 : 24_000;
      expect(total).toMatchObject({ requests, outputTokens: 2 * requests, amount: BigInt(5 * requests) });
      expect(rows.reduce((sum, row) => sum + row.requests, 0)).toBe(requests);
      const searches = plan
        .map(({ detail }) => detail)
        .filter((detail) => /^(SEARCH|SCAN) (usage_|l\b)|TEMP B-TREE/.test(detail));
      return { parts, searches: new Set(searches) };
    };

    test.each([['org_a'], [undefined]])('by the days of each org in the ledger, of %s', async (orgId) => {
      const { parts, searches } = await read({ groups: ['batch', 'model'], ...(orgId && { orgId }) });
      // Parts of 250 rows: SQLite's thread serves everybody.
      expect(parts).toBe(orgId === undefined ? 101 : 97);
      expect(searches).toEqual(
        new Set(inOrder.map((range) => `SEARCH l USING INDEX usage_ledger_by_org (org_id=? AND ${range})`)),
      );
    });

    test('by the days of what is not in the sums', async () => {
      const { parts, searches } = await read({ groups: ['org'] });
      expect(parts).toBe(101);
      expect(searches).toEqual(
        new Set([
          ...inOrder.map((range) => `SEARCH l USING INDEX usage_ledger_to_sum (${range})`),
          `SEARCH ${searchSums})`,
        ]),
      );
    });

    test.each([
      [['org'], undefined, 9, ['', ' AND (org_id,model,key_id,endpoint,tag,tier)>(?,?,?,?,?,?)']],
      [
        ['key'],
        'org_a',
        5,
        [' AND org_id=?', ' AND org_id=? AND (model,key_id,endpoint,tag,tier)>(?,?,?,?,?)'],
      ],
      [['model'], undefined, 3, ['']],
    ] as const)('by the sums of %s of %s', async (groups, orgId, expected, ranges) => {
      while ((await store.ledger.addToSums('9999', 1_000, 0)) > 0);
      const { parts, searches } = await read({ groups, ...(orgId && { orgId }) });
      expect(parts).toBe(expected);
      expect([...searches].filter((search) => !search.startsWith('SEARCH l'))).toEqual(
        ranges.map((range) => `SEARCH ${searchSums}${range})`),
      );
    });
  });

  test('usage is reported even if the prices of a batch are damaged, with a cost of zero', async () => {
    const batch = await addBatch(store as Store);
    await claimOf(store as Store, 'w', batch.id);
    await store.results.record('w', [output(batch, 0)], [], start);
    // As version 0.1.0 wrote it.
    await db.all('UPDATE usage_ledger SET amount = NULL');
    await db.all(`UPDATE batches SET prices = '{"m1":{' WHERE id = ?`, [batch.id]);
    const days = { start: '2026-11-21', before: '2026-11-22' };
    const { total } = await readUsageRows(store.ledger, {
      ...days,
      groups: ['day'],
      limit: 9,
      orgId: batch.orgId,
    });
    expect(total).toMatchObject({ requests: 1, amount: 0n });
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import type { AllBatchesQuery } from '../../src/store/contract/batches.ts';
import type { Db, Value } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { openPostgres } from '../../src/store/postgres/db.ts';
import { createListAll } from '../../src/store/sql/batches/reading/list-all.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import { startPostgres } from '../support/postgres.ts';

// Lists of all orgs at 100,000 batches: a page reads about as many rows as it has, whichever index serves it.

const total = 100_000;
const limit = 20;
const counted = 200;

/** 40 orgs, 10 models (a tenth of the batches has several), all statuses, and a batch a second. Batch 0 is the only one of `rare`. */
const fill = `INSERT INTO batches (id, org_id, key_id, endpoint, status, total, ok, err, due, accept_until, input_file_id, model,
    prices, price_factor, errors, result_ttl_ms, created_at, expires_at)
  WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ${total - 1})
  SELECT 'batch_' || (1000000 + n), 'org_' || (n % 40), 'key', '/v1/chat/completions',
    CASE WHEN n = 0 THEN 'expired' WHEN n % 100 = 1 THEN 'in_progress' WHEN n % 3 = 0 THEN 'failed' ELSE 'completed' END,
    9, 0, 0, n, 0, 'file', CASE WHEN n = 0 THEN 'rare' WHEN n % 10 = 0 THEN NULL ELSE 'm' || (n % 10) END,
    '{}', 1, '[]', 0, n * 1000, 0 FROM n`;

const queries: Record<string, Omit<AllBatchesQuery, 'limit'>> = {
  all: {},
  'a later page': { after: 'batch_1050000' },
  'oldest first': { order: 'asc', after: 'batch_1050000' },
  'an org': { of: { orgId: 'org_7' } },
  'an org and a status': { of: { orgId: 'org_1', status: 'in_progress' } },
  'a status that one batch has': { of: { status: 'expired' } },
  'a status that most have': { of: { status: 'completed' } },
  'open ones': { of: { open: true } },
  'a model': { of: { models: ['m5'] } },
  'a model that one batch names': { of: { models: ['rare', 'alias'] } },
  'since an instant': { createdAfter: 50_000_000 },
  'before an instant': { createdBefore: 50_000_000 },
  'a model between instants': {
    of: { models: ['m5'] },
    createdAfter: 40_000_000,
    createdBefore: 50_000_000,
  },
};

const searches = Object.entries(queries).filter(([, { of }]) => !of || !('models' in of));

interface Statement {
  sql: string;
  params: readonly Value[];
}

/** Statements of a function. */
async function watch(db: Db, run: (lists: ReturnType<typeof createListAll>) => Promise<void>) {
  const statements: Statement[] = [];
  const watched: Db = {
    ...db,
    all: (sql, params = []) => {
      statements.push({ sql, params });
      return db.all(sql, params);
    },
  };
  await run(createListAll(watched));
  return statements;
}

/** Counts up to 200 batches of each status, of which one has more than it. */
const countsOf = (db: Db, orgId: string | undefined) =>
  watch(db, async (lists) => {
    const counts = await lists.countByStatus(orgId, counted);
    expect(counts).toMatchObject({ completed: counted, cancelled: 0 });
  });

/** Statements of a list, or of a search that finds nothing in its slice. */
const statementsOf = (db: Db, query: Omit<AllBatchesQuery, 'limit'>, words: string[] = []) =>
  watch(db, async (lists) => {
    if (words.length === 0) expect((await lists.listAll({ ...query, limit })).length).toBeGreaterThan(0);
    else expect((await lists.search({ ...query, limit, words })).batches).toEqual([]);
  });

describe('on SQLite', () => {
  let db: Db;
  beforeAll(async () => {
    db = openSqlite(':memory:', systemClock);
    await migrate(db);
    await db.all(fill);
  });
  afterAll(() => db.close());

  test.each(Object.entries(queries))('an index serves the list of %s, in its order', async (_, query) => {
    for (const { sql, params } of await statementsOf(db, query)) {
      const steps = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params);
      const details = steps.map(({ detail }) => detail);
      expect(details.filter((detail) => /^SCAN batches(?! USING INDEX)/.test(detail))).toEqual([]);
      // The ids of a page of a model are sorted: as many as the names of the model times the page.
      if (!query.of || !('models' in query.of))
        expect(details.filter((detail) => detail.includes('TEMP B-TREE'))).toEqual([]);
    }
  });

  test.each(searches)('an index serves a search in %s', async (_, query) => {
    for (const { sql, params } of await statementsOf(db, query, ['nothing'])) {
      const steps = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params);
      const details = steps.map(({ detail }) => detail);
      expect(details.filter((detail) => /^SCAN batches(?! USING)|TEMP B-TREE/.test(detail))).toEqual([]);
    }
  });

  test.each([undefined, 'org_1'])('an index alone serves the counts of %s', async (orgId) => {
    for (const { sql, params } of await countsOf(db, orgId)) {
      const steps = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params);
      const reads = steps.map(({ detail }) => detail).filter((detail) => detail.includes(' batches '));
      expect(reads.length).toBe(7);
      for (const detail of reads) expect(detail).toContain('USING COVERING INDEX');
    }
  });

  test('a search reads on after a slice without a match', async () => {
    const { batches, next } = await createListAll(db).search({ limit, words: ['1099400'] });
    expect([batches, next]).toEqual([[], 'batch_1099500']);
    const more = await createListAll(db).search({ limit, words: ['1099400'], after: next! });
    expect(more.batches.map(({ id }) => id)).toEqual(['batch_1099400']);
  });
});

const postgres = await startPostgres();
if ('reason' in postgres) test.skip(`on Postgres (skipped: ${postgres.reason})`, () => {});
else
  describe('on Postgres', () => {
    let db: Db;
    beforeAll(async () => {
      db = openPostgres(await postgres.createDatabase(), silent);
      await migrate(db);
      await db.all(fill);
      await db.all('ANALYZE batches');
    });
    afterAll(async () => {
      await db.close();
      await postgres.stop();
    });

    interface Node {
      'Node Type': string;
      'Actual Rows': number;
      'Actual Loops': number;
      'Rows Removed by Filter'?: number;
      Plans?: Node[];
    }
    /** Rows that the scans of a plan read. */
    const rowsRead = (node: Node): number =>
      (node['Node Type'].includes('Scan')
        ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
        : 0) + (node.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0);

    /** Rows that a statement reads. */
    const readsOf = async ({ sql, params }: Statement): Promise<number> => {
      const [row] = await db.all<{ 'QUERY PLAN': { Plan: Node }[] | string }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
        params,
      );
      const text = row!['QUERY PLAN'];
      const [{ Plan: plan }] = (typeof text === 'string' ? JSON.parse(text) : text) as [{ Plan: Node }];
      return rowsRead(plan);
    };
    /** The nearest 1,000 ids to an instant bound a list by creation, in each of three groups of a model. */
    const boundsOf = ({ createdAfter, createdBefore }: (typeof queries)[string]) =>
      7 * 1000 * [createdAfter, createdBefore].filter((each) => each !== undefined).length;

    test.each(Object.entries(queries))('the list of %s reads few rows', async (_, query) => {
      for (const statement of await statementsOf(db, query))
        expect(await readsOf(statement), statement.sql).toBeLessThan(20 * limit + boundsOf(query));
    });

    test.each(searches)('a slice of a search in %s reads its rows', async (_, query) => {
      for (const statement of await statementsOf(db, query, ['nothing']))
        expect(await readsOf(statement), statement.sql).toBeLessThan(1_500 + boundsOf(query));
    });

    test.each([undefined, 'org_1'])('the counts of %s read no more rows than they count', async (orgId) => {
      for (const statement of await countsOf(db, orgId))
        expect(await readsOf(statement), statement.sql).toBeLessThan(3 * 7 * counted);
    });
  });

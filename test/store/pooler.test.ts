import { Client } from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { StoreError } from '../../src/core/store-error.ts';
import type { LineResult } from '../../src/store/contract/results.ts';
import { openPostgres, defaultTimeLimits, defaultPool } from '../../src/store/postgres/db.ts';
import type { PostgresDb } from '../../src/store/postgres/db.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import { startApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { findPgBouncer, type PgBouncer } from '../support/pgbouncer.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { addBatch, claimOf, lease, output, range, start } from './fixtures.ts';

const server = await startPostgres();
const pooler = findPgBouncer();

if ('reason' in server) test.skip(`behind a pooler (skipped: ${server.reason})`, () => {});
else if ('reason' in pooler) test.skip(`behind a pooler (skipped: ${pooler.reason})`, () => {});
else {
  afterAll(async () => {
    await pooler.stop();
    await server.stop();
  });
  poolerTests(server, pooler);
}

interface Pooled {
  /** URL of the database through the pooler, and without it. */
  url: string;
  direct: string;
}

const settings = {
  statement_timeout: '30s',
  lock_timeout: '15s',
  idle_in_transaction_session_timeout: '10s',
};
const readSettings = `SELECT ${Object.keys(settings)
  .map((name) => `current_setting('${name}') AS ${name}`)
  .join(', ')}`;

function poolerTests(postgres: PostgresServer, bouncer: PgBouncer): void {
  const pooled = async (chosen: Record<string, string | number>): Promise<Pooled> => {
    const direct = await postgres.createDatabase();
    return { direct, url: await bouncer.before(direct, chosen) };
  };
  const open = (url: string, lock = defaultTimeLimits.lock): PostgresDb => {
    const db = openPostgres(url, silent, { ...defaultPool, bounds: { ...defaultTimeLimits, lock } });
    onTestFinished(() => db.close());
    return db;
  };
  const beside = async (url: string): Promise<Client> => {
    const client = new Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };

  describe.each([{ pool_mode: 'transaction' }, { pool_mode: 'session' }])('in $pool_mode mode', (mode) => {
    test('every statement and every transaction has its timeouts', async () => {
      const { url } = await pooled(mode);
      const db = open(url);
      expect(await db.all(readSettings)).toEqual([settings]);
      expect(await db.tx((q) => q.all(readSettings))).toEqual([settings]);
    });

    test('other clients of the pooler are not affected by them', async () => {
      const { url } = await pooled({ ...mode, default_pool_size: 1 });
      const db = openPostgres(url, silent);
      await db.all('SELECT 1 AS one');
      await db.tx((q) => q.all('SELECT 1 AS one'));
      await db.close();
      const off = Object.fromEntries(Object.keys(settings).map((name) => [name, '0']));
      expect((await (await beside(url)).query(readSettings)).rows).toEqual([off]);
    });

    test('a statement that waits for a lock is cancelled on the server', async () => {
      const { url, direct } = await pooled(mode);
      const db = open(url, 200);
      await db.exec('CREATE TABLE t (n integer)');
      const holder = await beside(direct);
      await holder.query('BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
      const late = { code: 'unreachable', message: expect.stringContaining('lock timeout') };
      await expect(db.all('SELECT n FROM t')).rejects.toMatchObject(late);
      await expect(db.tx((q) => q.all('SELECT n FROM t'))).rejects.toMatchObject(late);
      const { rows } = await holder.query(
        "SELECT query FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      );
      expect(rows).toEqual([]);
      await holder.query('COMMIT');
      expect(await db.all('SELECT n FROM t')).toEqual([]);
    });

    test('a failed statement leaves no transaction open', async () => {
      const { url } = await pooled({ ...mode, default_pool_size: 1 });
      const db = openPostgres(url, silent, { ...defaultPool, connections: 1 });
      onTestFinished(() => db.close());
      await expect(db.all('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
      await db.exec('CREATE TABLE t (n integer PRIMARY KEY)');
      await db.all('INSERT INTO t VALUES (?)', [1]);
      await expect(db.all('INSERT INTO t VALUES (?)', [1])).rejects.toMatchObject({ code: '23505' });
      expect(await db.all('SELECT n FROM t')).toEqual([{ n: 1 }]);
    });

    test('several processes start together, and share a few server connections without mixing up statements', async () => {
      const { url } = await pooled({ ...mode, default_pool_size: mode.pool_mode === 'session' ? 40 : 1 });
      const stores = range(0, 3).map(() => createPostgresStore({ url, log: silent }));
      await Promise.all(stores.map((store) => store.start()));
      const batch = await addBatch(stores[0]!, { total: 120 });
      const work = async (worker: string, store: (typeof stores)[number]) => {
        for (;;) {
          const chunks = await claimOf(store, worker, batch.id, { count: 3 });
          if (chunks.length === 0) return;
          const lines = chunks.flatMap((chunk) => chunk.lines.map(({ line }) => output(batch, line)));
          await store.results.record(worker, lines, chunks.map(lease), start);
          await store.workers.beat(worker, { interactive: {} });
        }
      };
      await Promise.all(stores.map((store, n) => work(`w${n}`, store)));
      expect(await stores[1]!.batches.find(batch.id)).toMatchObject({
        ok: 120,
        err: 0,
        closing: 'completed',
      });
      await Promise.all(stores.map((store) => store.stop()));
    });

    test('two servers finish a batch', async () => {
      const { url } = await pooled({ ...mode, default_pool_size: mode.pool_mode === 'session' ? 40 : 3 });
      const first = await startApp({ database: url });
      const second = await startApp({ database: url, beside: first });
      const { id } = await first.api.createBatch({ requests: chatLines(60) });
      expect(await second.api.finished(id)).toMatchObject({
        status: 'completed',
        request_counts: { total: 60, completed: 60, failed: 0 },
      });
      await second.stop();
      await first.stop();
    });

    test('cut server connections lose and duplicate nothing', async () => {
      const { url } = await pooled(mode);
      const store = createPostgresStore({ url, log: silent });
      await store.start();
      const batch = await addBatch(store, { total: 200 });
      await claimOf(store, 'w', batch.id, { count: 1_000 });
      const failures: unknown[] = [];
      const record = async (results: LineResult[]): Promise<void> => {
        for (;;)
          try {
            return void (await store.results.record('w', results, [], start));
          } catch (error) {
            failures.push(error);
          }
      };
      for (const first of range(0, 20).map((n) => n * 10)) {
        const recording = record(range(first, first + 10).map((line) => output(batch, line)));
        if (first % 40 === 0) await postgres.cutConnections();
        await recording;
      }
      for (const error of failures) expect(error).toMatchObject({ name: 'StoreError', code: 'unreachable' });
      expect(await until('it is found', () => store.batches.find(batch.id).catch(() => null))).toMatchObject({
        ok: 200,
      });
      expect(await store.ledger.forSources([batch.id])).toMatchObject([{ requests: 200 }]);
      await store.stop();
    });
  });

  describe('statements are prepared', () => {
    const names = 'SELECT name FROM pg_prepared_statements ORDER BY name';

    test('under one name in every process, on a connection without a pooler', async () => {
      const url = await postgres.createDatabase();
      const namesIn = async (texts: string[]) => {
        const db = openPostgres(url, silent, { ...defaultPool, connections: 1 });
        for (const text of texts) await db.all(text);
        const found = await db.all<{ name: string }>(names);
        await db.close();
        return found.map(({ name }) => name);
      };
      const [one, two] = ['SELECT 1 AS one', 'SELECT 2 AS two'];
      const there = await namesIn([one, two]);
      expect(there).toHaveLength(3);
      expect(new Set(there).size).toBe(3);
      expect(await namesIn([two, one])).toEqual(there);
    });

    test('not at all where the pooler passes names through', async () => {
      const { url } = await pooled({
        pool_mode: 'transaction',
        ...(bouncer.prepares && { max_prepared_statements: 0 }),
      });
      const db = open(url);
      expect(await db.session()).toMatchObject({ isOwn: false, keepsNames: false });
      await db.all('SELECT CAST(? AS integer) AS one', [1]);
      expect(await db.all(names)).toEqual([{ name: 'offpeak_probe' }]);
    });

    test.skipIf(!bouncer.prepares)('where the pooler renames them', async () => {
      const { url } = await pooled({ pool_mode: 'transaction', max_prepared_statements: 20 });
      const db = open(url);
      expect(await db.session()).toMatchObject({ isOwn: false, keepsNames: true });
      await db.all('SELECT CAST(? AS integer) AS one', [1]);
      expect((await db.all(names)).length).toBeGreaterThan(1);
    });
  });

  describe('a start', () => {
    const starting = async (url: string) => {
      const store = createPostgresStore({ url, log: silent });
      const error: unknown = await store.start().catch((thrown: unknown) => thrown);
      await store.stop();
      expect(error).toBeInstanceOf(StoreError);
      return error as StoreError;
    };
    const tables = async (url: string) =>
      (await (await beside(url)).query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).rows;

    test.each([['transaction'], ['session']])('logs the pooler once, in %s mode', async (pool_mode) => {
      const { url, direct } = await pooled({ pool_mode });
      const lines: string[] = [];
      for (const each of [url, direct]) {
        const log = { ...silent, info: (_: unknown, line?: string) => void lines.push(line!) };
        const store = createPostgresStore({ url: each, log });
        await store.start();
        await store.ping();
        await store.stop();
      }
      expect(lines.filter((line) => line.includes('behind a pooler'))).toHaveLength(1);
    });

    test('is refused in statement mode, naming the setting to change, before a table is created', async () => {
      const { url, direct } = await pooled({ pool_mode: 'statement' });
      const error = await starting(url);
      expect(error.code).toBe('refused');
      expect(error.message).toContain('statement pooling mode');
      expect(error.hint).toBe('Set pool_mode of the pooler to transaction or session.');
      expect(await tables(direct)).toEqual([]);
    });

    test('shows the message of a pooler that rejects a parameter in the URL', async () => {
      const { url } = await pooled({ pool_mode: 'transaction' });
      const error = await starting(`${url}?options=-c%20work_mem%3D8MB`);
      expect(error.code).toBe('refused');
      expect(error.message).toMatch(/refused: unsupported startup parameter.*\.$/);
      expect(error.hint).toMatch(/^Add (options|work_mem) to ignore_startup_parameters of the pooler/);
    });

    test('shows the message of a pooler without a free connection', async () => {
      const { url } = await pooled({ pool_mode: 'transaction', max_client_conn: 0 });
      const error = await starting(url);
      expect(error).toMatchObject({ code: 'refused', hint: 'Check the limits and the log of the pooler.' });
      expect(error.message).toContain('max_client_conn');
    });
  });
}

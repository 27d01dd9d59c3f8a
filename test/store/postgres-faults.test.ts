import { afterAll, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { openSqlite } from '../../src/store/sqlite/db.ts';
import type { Db } from '../../src/store/db.ts';
import { migrate, migrations } from '../../src/store/migrations/migrate.ts';
import { openPostgres, defaultTimeLimits, defaultPool } from '../../src/store/postgres/db.ts';
import type { TimeLimits } from '../../src/store/postgres/db.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import type { LineResult } from '../../src/store/contract/results.ts';
import { StoreError } from '../../src/core/store-error.ts';
import { startStallProxy } from '../support/stall-proxy.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { startPostgres } from '../support/postgres.ts';
import { addBatch, claimOf, makeOrg, output, range, start } from './fixtures.ts';
import { looselyCollated, outlineSchema } from './schema-dump.ts';

const server = await startPostgres();

if ('reason' in server) test.skip(`faults of Postgres (skipped: ${server.reason})`, () => {});
else
  describe('faults of Postgres', () => {
    afterAll(() => server.stop());
    faultTests(server);
  });

function faultTests(postgres: PostgresServer): void {
  const withDb = async (work: (db: Db) => Promise<void>, bounds?: Partial<TimeLimits>) => {
    const db = openPostgres(await postgres.createDatabase(), silent, {
      ...defaultPool,
      bounds: { ...defaultTimeLimits, ...bounds },
    });
    try {
      await work(db);
    } finally {
      await db.close();
    }
  };
  const raise = (code: string) => `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`;

  test('the schema has the tables, columns, keys and indexes of SQLite, and all text is compared byte by byte', () =>
    withDb(async (db) => {
      const sqlite = openSqlite(':memory:', systemClock);
      await Promise.all([migrate(db), migrate(sqlite)]);
      expect(await outlineSchema(db)).toEqual(await outlineSchema(sqlite));
      expect(await looselyCollated(db)).toEqual([]);
    }));

  test('an answer that is lost while this process stands still is not blamed on the database', async () => {
    const bounds = { ...defaultTimeLimits, answer: 300 };
    const stalls = { ms: 1_000 };
    const db = openPostgres(await postgres.createDatabase(), silent, { ...defaultPool, bounds }, stalls);
    const sleeping = () => db.all('SELECT pg_sleep(30)').catch((error: unknown) => error);
    const slow = await sleeping();
    expect(slow).toMatchObject({ message: expect.stringContaining('does not answer in time') });
    const stalled = sleeping();
    const inTransaction = db.tx((q) => q.all('SELECT pg_sleep(30)')).catch((error: unknown) => error);
    stalls.ms += 36_000;
    for (const error of [await stalled, await inTransaction])
      expect(error).toMatchObject({
        code: 'unreachable',
        message: expect.stringMatching(/^This process stood still for 36 s/),
      });
    await db.close();
  });

  test('F49: several processes that start together migrate once', async () => {
    const url = await postgres.createDatabase();
    const stores = range(0, 5).map(() => createPostgresStore({ url, log: silent }));
    await Promise.all(stores.map((store) => store.start()));
    await Promise.all(stores.map((store) => store.ping()));
    await Promise.all(stores.map((store) => store.stop()));
    const db = openPostgres(url, silent);
    const versions = await db.all<{ version: number }>('SELECT version FROM schema_version ORDER BY version');
    expect(versions).toEqual(migrations.map(({ version }) => ({ version })));
    await db.close();
  });

  test('F35: connections cut under load lose and duplicate nothing', async () => {
    const url = await postgres.createDatabase();
    const [one, two] = [createPostgresStore({ url, log: silent }), createPostgresStore({ url, log: silent })];
    await Promise.all([one.start(), two.start()]);
    const batch = await addBatch(one, { total: 600 });
    await claimOf(one, 'w', batch.id, { count: 1_000 });
    const failures: unknown[] = [];
    /** Retries like the recorder. */
    const record = async (results: LineResult[], store = one): Promise<void> => {
      for (;;) {
        try {
          await store.results.record('w', results, [], start);
          return;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    const load = async (side: number) => {
      for (const first of range(0, 60).map((i) => ((i + side * 15) % 60) * 10))
        await record(
          range(first, first + 10).map((line) => output(batch, line)),
          side % 2 === 0 ? one : two,
        );
    };
    let cut = 0;
    const recorded = async () => (await one.batches.find(batch.id).catch(() => undefined))?.ok ?? 0;
    const disturb = async () => {
      for (let i = 0; i < 6; i++) {
        const before = await recorded();
        cut += await postgres.cutConnections();
        // Waits until another result is recorded, so that the next cut hits work, too.
        for (let now = before; now <= before && now < 600; now = await recorded());
      }
    };
    await Promise.all([load(0), load(1), load(2), load(3), disturb()]);
    expect(cut).toBeGreaterThan(0);
    for (const error of failures) expect(error).toMatchObject({ name: 'StoreError', code: 'unreachable' });
    expect(await one.batches.find(batch.id)).toMatchObject({ ok: 600, err: 0, closing: 'completed' });
    expect(
      (await one.results.tail(batch.id, 'output', 0, { rows: 1_000, bytes: 1e9 })).map((row) => row.n),
    ).toEqual(range(1, 601));
    expect(await one.ledger.forSources([batch.id])).toMatchObject([
      { requests: 600, usage: { inputTokens: 6_000 } },
    ]);
    await Promise.all([one.stop(), two.stop()]);
  });

  test('a connection lost while idle affects neither the next read nor the next transaction', () =>
    withDb(async (db) => {
      await db.all('SELECT 1 AS one');
      await postgres.cutConnections();
      expect(await db.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await postgres.cutConnections();
      expect(await db.tx((q) => q.all('SELECT 2 AS two'))).toEqual([{ two: 2 }]);
    }));

  test('a transaction whose connection is lost before its commit is retried', () =>
    withDb(async (db) => {
      await db.exec('CREATE TABLE t (n integer)');
      let attempts = 0;
      await db.tx(async (q) => {
        attempts++;
        await q.all('INSERT INTO t VALUES (?)', [attempts]);
        if (attempts === 1) await q.all('SELECT pg_terminate_backend(pg_backend_pid())');
      });
      expect(attempts).toBe(2);
      expect(await db.all('SELECT n FROM t')).toEqual([{ n: 2 }]);
    }));

  test('a transaction whose connection is lost during its commit is not retried: it may have happened', () =>
    withDb(async (db) => {
      await db.exec(`CREATE TABLE t (n integer);
        CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION die()`);
      let attempts = 0;
      const insert = db.tx(async (q) => {
        attempts++;
        await q.all('INSERT INTO t VALUES (1)');
      });
      await expect(insert).rejects.toMatchObject({ name: 'StoreError', code: 'unreachable' });
      expect(attempts).toBe(1);
    }));

  test('two transactions in a deadlock both end', () =>
    withDb(async (db) => {
      await db.exec(
        'CREATE TABLE t (id integer PRIMARY KEY, n integer); INSERT INTO t VALUES (1, 0), (2, 0)',
      );
      let attempts = 0;
      let waiting = 0;
      let release: (() => void) | undefined;
      const bothHoldOne = new Promise<void>((resolve) => (release = resolve));
      const both = (first: number, second: number) =>
        db.tx(async (q) => {
          attempts++;
          await q.all('UPDATE t SET n = n + 1 WHERE id = ?', [first]);
          if (++waiting === 2) release!();
          await bothHoldOne;
          await q.all('UPDATE t SET n = n + 1 WHERE id = ?', [second]);
        });
      await Promise.all([both(1, 2), both(2, 1)]);
      expect(attempts).toBeGreaterThanOrEqual(3);
      expect(await db.all('SELECT n FROM t ORDER BY id')).toEqual([{ n: 2 }, { n: 2 }]);
    }));

  test('a conflict is retried, but not forever', () =>
    withDb(async (db) => {
      let attempts = 0;
      const conflicting = (times: number) =>
        db.tx(async (q) => {
          if (++attempts <= times) await q.all(raise('40001'));
          return attempts;
        });
      expect(await conflicting(3)).toBe(4);
      attempts = 0;
      await expect(conflicting(1_000)).rejects.toMatchObject({ code: '40001' });
      expect(attempts).toBe(10);
    }));

  test('an error thrown in a transaction rolls it back and is passed on unchanged', () =>
    withDb(async (db) => {
      await db.exec('CREATE TABLE t (n integer)');
      const fault = new Error('mine');
      const failing = db.tx(async (q) => {
        await q.all('INSERT INTO t VALUES (1)');
        throw fault;
      });
      await expect(failing).rejects.toBe(fault);
      expect(await db.all('SELECT n FROM t')).toEqual([]);
    }));

  test('a full disk is insufficient_storage', () =>
    withDb(async (db) => {
      await expect(db.tx((q) => q.all(raise('53100')))).rejects.toMatchObject({
        code: 'insufficient_storage',
        status: 507,
      });
    }));

  test('a process that freezes in a transaction does not keep its locks', () =>
    withDb(async (db) => {
      const [row] = await db.all<{ timeout: string }>(
        "SELECT current_setting('idle_in_transaction_session_timeout') AS timeout",
      );
      expect(row!.timeout).toBe('10s');
    }));

  describe('a database that takes too long is unreachable', () => {
    const late = { name: 'StoreError', code: 'unreachable', message: expect.stringContaining('in time') };

    test('when a statement never ends', () =>
      withDb(
        async (db) => {
          await expect(db.all('SELECT pg_sleep(60)')).rejects.toMatchObject(late);
          await expect(db.tx((q) => q.all('SELECT pg_sleep(60)'))).rejects.toMatchObject(late);
          expect(await db.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
        },
        { statement: 500 },
      ));

    test('when a row stays locked', () =>
      withDb(
        async (db) => {
          await db.exec('CREATE TABLE t (n integer); INSERT INTO t VALUES (1)');
          await db.tx(async (q) => {
            await q.all('UPDATE t SET n = 2');
            await expect(db.tx((other) => other.all('UPDATE t SET n = 3'))).rejects.toMatchObject(late);
          });
          expect(await db.all('SELECT n FROM t')).toEqual([{ n: 2 }]);
        },
        { lock: 100 },
      ));

    test('when the network stalls, and the stalled connection is not used again', async () => {
      const url = new URL(await postgres.createDatabase());
      const line = await startStallProxy(Number(url.port));
      url.port = String(line.port);
      const db = openPostgres(url.href, silent, {
        ...defaultPool,
        bounds: { ...defaultTimeLimits, connect: 1_500, answer: 1_500 },
      });
      expect(await db.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      line.stalled = true;
      await expect(db.all('SELECT 1 AS one')).rejects.toMatchObject(late);
      await expect(db.tx((q) => q.all('SELECT 1 AS one'))).rejects.toMatchObject({ code: 'unreachable' });
      line.stalled = false;
      expect(await db.tx((q) => q.all('SELECT 2 AS two'))).toEqual([{ two: 2 }]);
      line.stalled = true;
      await db.close();
      line.close();
    });
  });

  test('integers are read as numbers, up to the largest exact one', () =>
    withDb(async (db) => {
      expect(
        await db.all(
          'SELECT CAST(9007199254740991 AS bigint) AS big, count(*) AS n FROM pg_class WHERE false',
        ),
      ).toEqual([{ big: 9_007_199_254_740_991, n: 0 }]);
    }));

  describe('a start reports the cause when', () => {
    const starting = async (url: string) => {
      const store = createPostgresStore({ url, log: silent });
      const error: unknown = await store.start().catch((thrown: unknown) => thrown);
      await store.stop();
      expect(error).toBeInstanceOf(StoreError);
      return error as StoreError;
    };

    test('no server listens', async () => {
      const error = await starting('postgres://someone:secret@127.0.0.1:1/offpeak');
      expect(error.code).toBe('unreachable');
      expect(error.message).toBe('The database 127.0.0.1:1/offpeak does not answer (ECONNREFUSED).');
    });

    test('the database does not exist', async () => {
      const error = await starting((await postgres.createDatabase()).replace('test_', 'absent_'));
      expect(error.code).toBe('refused');
      expect(error.message).toMatch(/absent_\d+" does not exist/);
    });

    test('the database is read-only', async () => {
      const url = await postgres.createDatabase();
      const db = openPostgres(url, silent);
      await db.exec(
        `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`,
      );
      await db.close();
      expect((await starting(url)).code).toBe('unwritable');
    });

    test('its schema is newer', async () => {
      const url = await postgres.createDatabase();
      const db = openPostgres(url, silent);
      await migrate(db);
      await db.all("INSERT INTO schema_version VALUES (99, 'from the future', 0)");
      await db.all('UPDATE schema_support SET oldest = 99');
      await db.close();
      expect((await starting(url)).code).toBe('newer_schema');
    });

    test('its schema is from before 0.1.0, and changes nothing', async () => {
      const url = await postgres.createDatabase();
      const db = openPostgres(url, silent);
      await migrate(db);
      await db.exec("DELETE FROM schema_version; INSERT INTO schema_version VALUES (11, 'initial', 0)");
      const before = await outlineSchema(db);
      const error = await starting(url);
      expect([error.code, error.message]).toEqual([
        'older_schema',
        'The database was created before Offpeak 0.1.0 and cannot be upgraded: start with an empty data folder or a new database.',
      ]);
      expect(await outlineSchema(db)).toEqual(before);
      expect(await db.all('SELECT version, name FROM schema_version')).toEqual([
        { version: 11, name: 'initial' },
      ]);
      await db.close();
    });
  });

  test('blocked requests delay no heartbeat, no results and no claim', async () => {
    const url = await postgres.createDatabase();
    const store = createPostgresStore({ url, log: silent });
    await store.start();
    await store.orgs.insert(makeOrg({ id: 'org_a' }));
    const batch = await addBatch(store);
    const beside = openPostgres(url, silent);
    let created = 0;
    const creates = await beside.tx(async (q) => {
      await q.all("SELECT id FROM orgs WHERE id = 'org_a' FOR UPDATE");
      const waiting = range(0, 50).map(() => addBatch(store).then(() => created++));
      await store.workers.beat('w', { interactive: {} });
      await claimOf(store, 'w', batch.id, { count: 9 });
      expect(await store.results.record('w', [output(batch, 0)], [], start)).toMatchObject([{ kept: 1 }]);
      expect(created).toBe(0);
      return { waiting };
    });
    await Promise.all(creates.waiting);
    expect(created).toBe(50);
    await Promise.all([store.stop(), beside.close()]);
  });

  test('F50: a process continues while a newer version migrates the schema, and starts again until that version drops its support', async () => {
    const url = await postgres.createDatabase();
    const store = createPostgresStore({ url, log: silent });
    await store.start();
    await store.orgs.insert(makeOrg({ id: 'org_a' }));
    const work = async () => {
      const batch = await addBatch(store);
      const chunks = await claimOf(store, 'w', batch.id, { count: 9 });
      await store.results.record('w', [output(batch, 0)], [], start);
      await store.workers.beat('w', { interactive: {} });
      const { ok } = (await store.batches.get('org_a', batch.id))!;
      return [chunks.length > 0, ok, (await store.batches.list('org_a', { limit: 100 })).length];
    };
    expect(await work()).toEqual([true, 1, 1]);
    const newer = openPostgres(url, silent);
    // A release may only add to a schema that its predecessor still uses.
    const tables = ['batches', 'batch_chunks', 'batch_results', 'files', 'workers', 'queues'];
    const added = tables.map((table) => `ALTER TABLE ${table} ADD COLUMN later text DEFAULT 'x' NOT NULL`);
    const next = { version: migrations.at(-1)!.version + 1, name: 'next', statements: () => added };
    await migrate(newer, [...migrations, next]);
    expect([await work(), await work()]).toEqual([
      [true, 1, 2],
      [true, 1, 3],
    ]);
    const warnings: string[] = [];
    const log = { ...silent, warn: (_fields: object, message: string) => void warnings.push(message) };
    const again = createPostgresStore({ url, log });
    await again.start();
    expect(warnings).toEqual([expect.stringContaining('A newer version of Offpeak has migrated')]);
    await again.stop();
    const contract = ['UPDATE schema_support SET oldest = 99'];
    const last = { version: next.version + 1, name: 'last', statements: () => contract };
    await migrate(newer, [...migrations, next, last]);
    const refused = createPostgresStore({ url, log: silent });
    await expect(refused.start()).rejects.toMatchObject({ code: 'newer_schema' });
    await Promise.all([store.stop(), newer.close()]);
  });

  test('a store can be started and stopped repeatedly, in any order', async () => {
    const url = await postgres.createDatabase();
    const never = createPostgresStore({ url, log: silent });
    await never.stop();
    await never.stop();
    const store = createPostgresStore({ url, log: silent });
    const [started] = await Promise.allSettled([store.start(), store.start(), store.stop()]);
    expect(started.status).toBe('fulfilled');
    await store.stop();
    await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError', code: 'stopped' });
  });
}

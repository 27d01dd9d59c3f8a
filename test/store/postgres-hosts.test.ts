import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { minConnections, createPostgresStore, sharesOf } from '../../src/store/postgres/postgres.ts';
import { defaultPool, openPostgres } from '../../src/store/postgres/db.ts';
import type { Store } from '../../src/store/store.ts';
import { startApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { freePort } from '../support/free-port.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { addBatch } from './fixtures.ts';

const server = await startPostgres();

if ('reason' in server) test.skip(`servers of Postgres (skipped: ${server.reason})`, () => {});
else
  describe('servers of Postgres', () => {
    afterAll(() => server.stop());
    hostTests(server);
  });

function hostTests(postgres: PostgresServer): void {
  const sql = async (url: string, text: string) => {
    const client = new Client(url);
    await client.connect();
    try {
      return await client.query(text);
    } finally {
      await client.end();
    }
  };
  const storeOf = async (url: string): Promise<Store> => {
    const store = createPostgresStore({ url, log: silent });
    onTestFinished(() => store.stop());
    await store.start();
    return store;
  };
  const allowWrites = (url: string, isAllowed: boolean) => {
    const admin = new URL(url);
    const name = admin.pathname.slice(1);
    admin.pathname = '/postgres';
    const change = isAllowed ? 'RESET ALL' : 'SET default_transaction_read_only = on';
    return sql(admin.href, `ALTER DATABASE ${name} ${change}`);
  };
  const portOf = (url: string) => new URL(url).port;

  test('F35: are tried in order until one takes writes, and the next one takes over after a failover', async () => {
    const started = await startPostgres();
    if ('reason' in started) throw new Error(started.reason);
    onTestFinished(() => started.stop());
    const url = await started.createDatabase();
    const standby = await started.addStandby();
    onTestFinished(() => standby.stop());
    // Nothing that the primary confirmed is lost.
    await sql(url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await sql(url, 'SELECT pg_reload_conf()');
    const hosts = [await freePort(), standby.port, portOf(url)].map((port) => `127.0.0.1:${port}`).join(',');
    const database = `postgres://postgres@${hosts}/test_1?target_session_attrs=read-write`;
    const app = await startApp({ database });
    const ready = async () => (await fetch(`${app.url}/readyz`)).status === 200;
    expect(await ready()).toBe(true);
    const { id } = await app.api.createBatch({ requests: chatLines(300) });
    await started.stop();
    expect(await ready()).toBe(false);
    await standby.promote();
    await until('the new primary is found', ready);
    expect(await app.api.finished(id)).toMatchObject({
      status: 'completed',
      request_counts: { total: 300, completed: 300, failed: 0 },
    });
    await app.stop();
  });

  test('are refused if none takes writes', async () => {
    const started = await startPostgres();
    if ('reason' in started) throw new Error(started.reason);
    onTestFinished(() => started.stop());
    await started.createDatabase();
    const standby = await started.addStandby();
    onTestFinished(() => standby.stop());
    const at = `127.0.0.1:${standby.port}`;
    for (const hosts of [at, `${at},127.0.0.1:${await freePort()},${at}`]) {
      const store = createPostgresStore({ url: `postgres://postgres@${hosts}/test_1`, log: silent });
      await expect(store.start()).rejects.toMatchObject({
        code: 'unwritable',
        message: `The database ${hosts}/test_1 is read-only.`,
        hint: 'Connect to the primary, not to a replica.',
      });
      await store.stop();
    }
  });

  test('may be named by the folder of their socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'socket-'));
    chmodSync(folder, 0o777);
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const started = await startPostgres({ settings: { unix_socket_directories: folder } });
    if ('reason' in started) throw new Error(started.reason);
    onTestFinished(() => started.stop());
    const port = portOf(await started.createDatabase());
    const store = await storeOf(`postgres://postgres@/test_1?host=${folder}&port=${port}`);
    expect(await store.ping()).toBeGreaterThan(0);
  });

  describe('that allow only reads', () => {
    test('are not ready, and heal when writes are allowed again', async () => {
      const url = await postgres.createDatabase();
      const app = await startApp({ database: url });
      const ready = async () => (await fetch(`${app.url}/readyz`)).status;
      expect(await ready()).toBe(200);
      // New connections are concerned, not those that exist.
      await allowWrites(url, false);
      await postgres.cutConnections();
      expect(await ready()).toBe(503);
      await allowWrites(url, true);
      await until('it takes writes', async () => (await ready()) === 200);
      await app.api.createBatch({ requests: chatLines(1) });
      await app.stop();
    });

    test('lose the connections that were refused a write', async () => {
      const url = await postgres.createDatabase();
      await allowWrites(url, false);
      const db = openPostgres(url, silent, { ...defaultPool, connections: 1 });
      onTestFinished(() => db.close());
      const create = () => db.tx((q) => q.all('CREATE TABLE t (n integer)'));
      await expect(create()).rejects.toMatchObject({ code: 'unwritable' });
      await expect(db.all('CREATE TABLE t (n integer)')).rejects.toMatchObject({ code: 'unwritable' });
      await allowWrites(url, true);
      await create();
    });
  });

  describe('connections', () => {
    test.each([5, 6, 10, 12, 100])('%i are shared by the priority classes', (connections) => {
      const shares = Object.values(sharesOf(connections)).map((share) => share.connections);
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(1);
      expect(shares.reduce((sum, share) => sum + share)).toBe(connections);
    });

    test('are those configured', async () => {
      const url = await postgres.createDatabase();
      const store = createPostgresStore({ url, connections: minConnections, log: silent });
      onTestFinished(() => store.stop());
      await store.start();
      const { id } = await addBatch(store, { total: 10 });
      await Promise.all(
        Array.from({ length: 50 }, () => [
          store.batches.find(id),
          store.controls.read(),
          store.ping(),
        ]).flat(),
      );
      const { rows } = await sql(
        url,
        'SELECT count(*)::integer AS open FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      expect(rows[0].open).toBeLessThanOrEqual(minConnections);
    });

    test.each([
      [90, ['The database allows fewer connections than the processes may open.']],
      [10, []],
    ])('are compared with max_connections: %i', async (connections, warnings) => {
      const url = await postgres.createDatabase();
      const lines: string[] = [];
      const log = { ...silent, warn: (_: unknown, line?: string) => void lines.push(line!) };
      const store = createPostgresStore({ url, connections, log });
      const other = createPostgresStore({ url, log: silent });
      onTestFinished(() => Promise.all([store.stop(), other.stop()]).then(() => {}));
      await other.start();
      await other.workers.beat('w1', { interactive: {} });
      await store.start();
      expect(lines.map((line) => `${line.split('.')[0]}.`)).toEqual(warnings);
    });

    test('prepare statements unless told otherwise', async () => {
      const url = await postgres.createDatabase();
      const prepared = async (prepare: boolean) => {
        const db = openPostgres(url, silent, { ...defaultPool, connections: 1, prepare });
        onTestFinished(() => db.close());
        await db.all('SELECT CAST(? AS integer) AS n', [1]);
        return (await db.all('SELECT name FROM pg_prepared_statements')).length;
      };
      expect([await prepared(true), await prepared(false)]).toEqual([2, 0]);
    });
  });
}

import { Client } from 'pg';
import { afterAll, describe, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import { startPostgres } from '../support/postgres.ts';
import { storeConformance } from './conformance.ts';

const server = await startPostgres();

if ('reason' in server) test.skip(`the store in Postgres (skipped: ${server.reason})`, () => {});
else
  describe('with a Postgres server', () => {
    afterAll(() => server.stop());

    storeConformance('the store in Postgres', async () => {
      const url = await server.createDatabase();
      const [store, other] = [
        createPostgresStore({ url, log: silent }),
        createPostgresStore({ url, log: silent }),
      ];
      await Promise.all([store.start(), other.start()]);
      const beside = new Client(url);
      await beside.connect();
      const tables = await beside.query<{ name: string }>(
        `SELECT tablename AS name FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'schema_version'`,
      );
      return {
        store,
        other,
        async reset() {
          await beside.query(`TRUNCATE ${tables.rows.map(({ name }) => name).join(', ')}`);
        },
        async close() {
          await Promise.all([store.stop(), other.stop(), beside.end()]);
        },
      };
    });
  });

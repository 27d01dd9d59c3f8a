import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import { startPostgres } from '../support/postgres.ts';
import { storeConformance } from './conformance.ts';

const server = await startPostgres();

if ('reason' in server) test.skip(`the store in Postgres (skipped: ${server.reason})`, () => {});
else
  describe('with a Postgres server', () => {
    afterAll(() => server.stop());

    test('orgs take turns at the connections of the store (attacks 4, 7 and 9)', async () => {
      const store = createPostgresStore({ url: await server.createDatabase(), log: silent });
      await store.start();
      const answered: string[] = [];
      const read = async (orgId: string) => {
        await store.files.get(orgId, 'file-0', 0);
        answered.push(orgId);
      };
      // Opens all connections: a read that waits for a new one is overtaken by any number of others.
      await Promise.all(Array<string>(40).fill('org_a').map(read));
      answered.length = 0;
      await Promise.all([...Array<string>(40).fill('org_a'), 'org_b'].map(read));
      await store.stop();
      // At most the four reads that were sent before it, and those whose answers overtake.
      expect(answered.indexOf('org_b')).toBeLessThan(12);
    });

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

import { systemClock } from '../base/system.ts';
import type { Config } from '../core/config.ts';
import { createLog, secretsOf } from './log.ts';

/**
 * Migrates the tables of the Postgres that a configuration names. Servers of the installation may run meanwhile.
 * @returns version and name of the latest migration
 * @throws StoreError as a start of the server
 */
export async function migratePostgres(config: Config): Promise<{ version: number; name: string }> {
  const [{ createPostgresStore }, { migrations }] = await Promise.all([
    import('../store/postgres/postgres.ts'),
    import('../store/migrations/migrate.ts'),
  ]);
  const clock = systemClock;
  const { log, flush } = createLog(config.logLevel, secretsOf(config), clock);
  const store = createPostgresStore({ url: config.database, ...config.postgres, clock, log });
  try {
    await store.start();
    const { version, name } = migrations.at(-1)!;
    return { version, name };
  } finally {
    await store.stop();
    flush();
  }
}

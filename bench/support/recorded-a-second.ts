import { fileURLToPath } from 'node:url';
import type { PostgresServer } from '../../test/support/postgres.ts';
import { firstLine, start } from './processes.ts';

/** Returns how many results four bare recorders write a second, into 128 batches of a new database. */
export async function recordedASecond(postgres: PostgresServer): Promise<number> {
  const database = await postgres.createDatabase();
  const file = fileURLToPath(new URL('recorders.ts', import.meta.url));
  const line = await firstLine(start('target', process.execPath, [file, database]));
  return (JSON.parse(line) as { rowsPerSecond: number }).rowsPerSecond;
}

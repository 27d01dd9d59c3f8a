import { DatabaseSync } from 'node:sqlite';
import type { Queries } from '../db.ts';
import { translate } from './errors.ts';

/**
 * Opens a database to read it while a server uses it: WAL readers neither block writers nor wait for them.
 * @throws StoreError
 */
export function openReadOnly(path: string): Queries & { close(): void } {
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw translate(error, path);
    }
  };
  const connection = attempt(() => new DatabaseSync(path, { readOnly: true, timeout: 5_000 }));
  return {
    forUpdate: '',
    skipLocked: '',
    all: async <Row extends object>(sql: string, params = []) =>
      attempt(() => connection.prepare(sql).all(...params) as unknown as Row[]),
    close: () => connection.close(),
  };
}

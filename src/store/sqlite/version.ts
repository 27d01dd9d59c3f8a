import { StoreError } from '../../core/store-error.ts';

/**
 * A Node.js may be built without it.
 * @throws StoreError `unsupported`
 */
export function requireSqlite(): void {
  if (process.getBuiltinModule('node:sqlite') !== undefined) return;
  throw new StoreError(
    'unsupported',
    `This Node.js (${process.version}) was built without node:sqlite, which the embedded database needs.`,
    'Use a Node.js from nodejs.org, or a postgres:// database.',
  );
}

const least = [3, 51, 3] as const;

/**
 * Before 3.51.3 two connections that write and checkpoint at the same moment could damage a WAL database.
 * @param version as `sqlite_version()` answers it
 * @throws StoreError `unsupported`
 */
export function requireVersion(version: string): void {
  const parts = version.split('.').map(Number);
  const at = least.findIndex((number, i) => number !== parts[i]);
  if (at === -1 || parts[at]! > least[at]!) return;
  throw new StoreError(
    'unsupported',
    `This Node.js carries SQLite ${version}, which has a bug that can damage the database.`,
    `Use a Node.js with SQLite ${least.join('.')} or newer: node -p process.versions.sqlite tells.`,
  );
}

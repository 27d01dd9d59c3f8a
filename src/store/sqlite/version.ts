import { StoreError } from '../../core/store-error.ts';

/** Requires `node:sqlite`, which a Node.js may be built without. @throws StoreError `unsupported` */
export function requireSqlite(): void {
  if (process.getBuiltinModule('node:sqlite') !== undefined) return;
  throw new StoreError(
    'unsupported',
    `This Node.js (${process.version}) was built without node:sqlite, which the embedded database needs.`,
    'Use a Node.js from nodejs.org, or a postgres:// database.',
  );
}

const minVersion = [3, 51, 3] as const;

/**
 * Requires SQLite 3.51.3: before, concurrent writes and checkpoints of two connections could damage a WAL database.
 * @param version from `sqlite_version()`
 * @throws StoreError `unsupported`
 */
export function requireVersion(version: string): void {
  const parts = version.split('.').map(Number);
  const at = minVersion.findIndex((number, i) => number !== parts[i]);
  if (at === -1 || parts[at]! > minVersion[at]!) return;
  throw new StoreError(
    'unsupported',
    `This Node.js carries SQLite ${version}, which has a bug that can damage the database.`,
    `Use a Node.js with SQLite ${minVersion.join('.')} or newer (see node -p process.versions.sqlite).`,
  );
}

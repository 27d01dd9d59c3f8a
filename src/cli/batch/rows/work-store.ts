import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Row of a run with its answer. */
export interface WorkRow {
  number: number;
  /** Null for a row that is left out. */
  request: number | null;
  /** JSON of an `Answer`; null before the row is answered. */
  answer: string | null;
}

export type WorkStore = ReturnType<typeof openWorkStore>;

const schema = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY,
    custom_id TEXT NOT NULL UNIQUE,
    key BLOB,
    answer TEXT
  );
  CREATE UNIQUE INDEX IF NOT EXISTS requests_key ON requests (key) WHERE key IS NOT NULL;
  CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, request INTEGER);
`;

/** Files of a work store at `path`. */
export const workFiles = (path: string): string[] => [path, `${path}-wal`, `${path}-shm`];

/**
 * Work file of a run with rows: which request asks for which row, and the answers so far. It is a SQLite database, so it survives
 * a killed process, and a table of any size needs little memory.
 */
export function openWorkStore(path: string) {
  const database = new DatabaseSync(path);
  // The state file of the run trusts what was committed here before.
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${schema}`);
  const prepare = (sql: string) => database.prepare(sql);
  const readMeta = prepare('SELECT value FROM meta WHERE name = ?');
  const writeMeta = prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)');
  const byKey = prepare('SELECT id FROM requests WHERE key = ?');
  const byCustomId = prepare('SELECT id FROM requests WHERE custom_id = ?');
  const insert = prepare('INSERT INTO requests (custom_id, key, answer) VALUES (?, ?, ?)');
  const insertRow = prepare('INSERT INTO rows VALUES (?, ?)');
  const setAnswer = prepare('UPDATE requests SET answer = ? WHERE custom_id = ? RETURNING key');
  const joined = prepare(
    'SELECT number, request, answer FROM rows LEFT JOIN requests ON requests.id = rows.request ORDER BY number',
  );
  const idOf = (found: unknown) => (found as { id: number } | undefined)?.id;
  return {
    meta(name: string): unknown {
      const found = readMeta.get(name) as { value: string } | undefined;
      return found === undefined ? undefined : JSON.parse(found.value);
    },
    setMeta(name: string, value: unknown): void {
      writeMeta.run(name, JSON.stringify(value));
    },
    begin: () => database.exec('BEGIN'),
    commit: () => database.exec('COMMIT'),
    rollback: () => database.exec('ROLLBACK'),
    requestByKey: (key: Uint8Array) => idOf(byKey.get(key)),
    hasCustomId: (customId: string) => byCustomId.get(customId) !== undefined,
    /** @param key of equal requests, or null where none are looked for */
    addRequest: (customId: string, key: Uint8Array | null, answer: string | null): number =>
      Number(insert.run(customId, key, answer).lastInsertRowid),
    /** @param request null for a row that is left out */
    addRow: (number: number, request: number | null) => void insertRow.run(number, request),
    /** Stores an answer. @returns the key of the request, null for none; undefined for an unknown request */
    setAnswer(customId: string, answer: string): Uint8Array | null | undefined {
      return (setAnswer.get(answer, customId) as { key: Uint8Array | null } | undefined)?.key;
    },
    rows: () => joined.iterate() as unknown as IterableIterator<WorkRow>,
    close: () => database.close(),
  };
}

export function removeWorkStore(path: string): void {
  for (const file of workFiles(path)) rmSync(file, { force: true });
}

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../../base/make-folder.ts';

export type AnswerCache = Awaited<ReturnType<typeof openAnswerCache>>;

/** Wait for another run that writes to the same cache. */
const busyMs = 10_000;

/** Answers of earlier runs in a folder, by the hash of endpoint and body of their requests. */
export async function openAnswerCache(folder: string) {
  await makeFolder(folder);
  const database = new DatabaseSync(join(folder, 'answers.db'), { timeout: busyMs });
  database.exec(
    'PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID',
  );
  const select = database.prepare('SELECT answer FROM answers WHERE key = ?');
  const insert = database.prepare('INSERT OR REPLACE INTO answers VALUES (?, ?)');
  return {
    /** JSON of an `Answer`; null for an unknown request. */
    get: (key: Uint8Array): string | null =>
      (select.get(key) as { answer: string } | undefined)?.answer ?? null,
    /** Adds answers, as one transaction. */
    add(answers: readonly (readonly [key: Uint8Array, answer: string])[]): void {
      database.exec('BEGIN IMMEDIATE');
      for (const [key, answer] of answers) insert.run(key, answer);
      database.exec('COMMIT');
    },
    close: () => database.close(),
  };
}

import { DatabaseSync } from 'node:sqlite';

/**
 * Writes a database as it is at this moment to a new file, while another process works on it: in the write-ahead log a
 * reader stops nobody. The copy is whole and has no log of its own.
 * @throws the driver's error, also when `target` exists
 */
export function copyDatabase(path: string, target: string): void {
  const source = new DatabaseSync(path, { readOnly: true });
  try {
    source.prepare('VACUUM INTO ?').run(target);
  } finally {
    source.close();
  }
}

import { DatabaseSync } from 'node:sqlite';

/**
 * Copies a database to a new file while another process uses it: WAL readers do not block writers. The copy has no log.
 * @throws the driver's error, including when `target` exists
 */
export function copyDatabase(path: string, target: string): void {
  const source = new DatabaseSync(path, { readOnly: true });
  try {
    source.prepare('VACUUM INTO ?').run(target);
  } finally {
    source.close();
  }
}

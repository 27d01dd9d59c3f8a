import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ModelFs } from './part-file.ts';

/** The right to write a file's part. */
export interface Lease {
  release(): Promise<void>;
}

/**
 * Takes the lease of `path`; undefined while another process has it, or another pull of this one. It is an exclusive
 * transaction on an empty database, `<name>.part.lock`, so the operating system drops it however the process ends. Where a
 * disk cannot lock, everybody has it.
 */
export async function takeLease(path: string, fs: ModelFs): Promise<Lease | undefined> {
  const lock = `${path}.part.lock`;
  await fs.mkdir(dirname(path), { recursive: true });
  const connection = open(lock);
  if (connection === 'held') return undefined;
  return {
    async release() {
      // Before it is let go: afterwards the file may be another's lock. Not every system removes what is open.
      await fs.rm(lock, { force: true }).catch(() => {});
      connection?.close();
    },
  };
}

const busy = 5;

/** Undefined when it cannot be locked; a folder that cannot be written to is told when the part is opened. */
function open(lock: string): DatabaseSync | 'held' | undefined {
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(lock, { timeout: 0 });
    connection.exec('BEGIN EXCLUSIVE');
    return connection;
  } catch (error) {
    connection?.close();
    return error instanceof Error && 'errcode' in error && error.errcode === busy ? 'held' : undefined;
  }
}

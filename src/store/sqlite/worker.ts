import { mkdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { pid } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { ApiError } from '../../core/errors.ts';
import type { Db } from '../db.ts';
import { migrate } from '../migrations/migrate.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { openSqlite } from './db.ts';
import { diskFull, folderFault, lockFolder } from './folder-lock.ts';
import type { FolderLock } from './folder-lock.ts';
import { packError } from './messages.ts';
import type { Reply, Request, WorkerOptions } from './messages.ts';
import { buffersOf, packRows, unpackRows } from './packed-rows.ts';

/** The thread that owns the embedded database: statements block it, and nobody else. */

const port = parentPort!;
const { path } = workerData as WorkerOptions;
/** The main thread's clock, as of the last message. */
let now = 0;
let lock: FolderLock | undefined;
let db: Db | undefined;
/** Answers under way, which a stop waits for. */
const answers = new Set<Promise<void>>();

const reply = (message: Reply, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

async function open(): Promise<Db> {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw folderFault(folder, error);
  }
  lock = lockFolder(folder, pid);
  db = openSqlite(path, { now: () => now });
  await migrate(db);
  return db;
}

/** A start answers an operator, not a client. */
function startError(error: unknown): unknown {
  return error instanceof ApiError ? diskFull(dirname(path), error) : error;
}

async function close(): Promise<void> {
  await Promise.all(answers);
  await db?.close();
  lock?.release();
  port.close();
}

function serve(operations: Record<string, unknown>): void {
  const answer = async (request: Extract<Request, { type: 'call' }>) => {
    try {
      const owner = request.group === null ? operations : operations[request.group];
      const operation = (owner as Record<string, (...args: unknown[]) => Promise<unknown>>)[
        request.operation
      ]!;
      const value = packRows(await operation(...request.args.map(unpackRows)));
      reply({ type: 'done', id: request.id, value }, buffersOf([value]));
    } catch (error) {
      reply({ type: 'threw', id: request.id, error: packError(error) });
    }
  };
  port.on('message', (request: Request) => {
    if (request.type === 'call') {
      now = request.now;
      const answered = answer(request).finally(() => answers.delete(answered));
      answers.add(answered);
    } else void close();
  });
}

try {
  serve({ ...createSqlStore(await open()) });
  reply({ type: 'ready' });
  // Each thread writes its own, and only at its end if nobody asks: a kill never reaches that.
  flushCompileCache();
} catch (error) {
  reply({ type: 'failed', error: packError(startError(error)) });
  await close();
}

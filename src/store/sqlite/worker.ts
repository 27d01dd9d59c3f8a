import { mkdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { pid } from 'node:process';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ApiError } from '../../core/errors.ts';
import type { Db } from '../db.ts';
import { migrate, newerSchemaWarning } from '../migrations/migrate.ts';
import { type PriorityClass, operations } from '../sql/priority-classes.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { CallQueue } from './call-queue.ts';
import { openSqlite } from './db.ts';
import type { FileLock } from '../../base/file-lock.ts';
import { removeProto } from '../../base/remove-proto.ts';
import { diskFull, folderFault, lockFolder } from './folder-lock.ts';
import { type Reply, type Request, type WorkerOptions, packError } from './messages.ts';
import { buffersOf, packRows, unpackRows } from './packed-rows.ts';

/** Thread that owns the embedded database: statements block only this thread. */

removeProto();
const port = parentPort!;
const { path } = workerData as WorkerOptions;
/** Time of the main thread at the last message. */
let now = 0;
let lock: FileLock | undefined;
let db: Db | undefined;

type Call = Extract<Request, { type: 'call' }>;

const waiting = new CallQueue<Call>();
let working = false;
let stopping = false;

const reply = (message: Reply, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

async function open(): Promise<{ opened: Db; version: number }> {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw folderFault(folder, error);
  }
  lock = lockFolder(folder, pid);
  db = openSqlite(path, { now: () => now });
  return { opened: db, version: await migrate(db) };
}

async function close(): Promise<void> {
  await db?.close();
  lock?.release();
  port.close();
}

function take(request: Request): void {
  if (request.type === 'stop') {
    stopping = true;
    return;
  }
  now = request.now;
  const { group, operation } = request;
  const lane = group ? (operations[group] as Record<string, PriorityClass>)[operation] : undefined;
  waiting.add(request, lane);
}

function serve(store: Record<string, unknown>): void {
  const answer = async (call: Call) => {
    try {
      const owner = call.group === null ? store : store[call.group];
      const operation = (owner as Record<string, (...args: unknown[]) => Promise<unknown>>)[call.operation]!;
      const value = packRows(await operation(...call.args.map(unpackRows)));
      reply({ type: 'done', id: call.id, value }, buffersOf([value]));
    } catch (error) {
      reply({ type: 'threw', id: call.id, error: packError(error) });
    }
  };
  const work = async () => {
    for (;;) {
      // New calls may be more urgent.
      for (let more; (more = receiveMessageOnPort(port));) take(more.message as Request);
      const call = waiting.next();
      if (!call) break;
      await answer(call);
    }
    working = false;
    if (stopping) await close();
  };
  port.on('message', (request: Request) => {
    take(request);
    if (working) return;
    working = true;
    void work();
  });
}

try {
  const { opened, version } = await open();
  serve({ ...createSqlStore(opened) });
  reply({ type: 'ready', warning: newerSchemaWarning(version) });
  // By default a thread writes its compile cache at its end, which a kill prevents.
  flushCompileCache();
} catch (error) {
  // Start-up errors are for the operator, not a client.
  const fault = error instanceof ApiError ? diskFull(dirname(path), error) : error;
  reply({ type: 'failed', error: packError(fault) });
  await close();
}

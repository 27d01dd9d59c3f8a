import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { sleep, type Clock, type Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { createSharedTimer } from '../../base/shared-timer.ts';
import { programFile } from '../../base/program.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../../core/store-error.ts';
import { eachOperation, type Group } from '../sql/priority-classes.ts';
import { type Reply, type Request, type WorkerOptions, unpackError } from './messages.ts';
import { wasKilled } from './owner-file.ts';
import { requireSqlite } from './version.ts';
import { buffersOf, packRows, unpackRows } from './packed-rows.ts';

export interface SqliteStoreOptions {
  /** Database file. Its folder is created if missing, and locked while the store runs. */
  path: string;
  clock: Clock;
  log: Log;
}

/** Limit of the young generation: the thread has few long-lived objects and would fill any larger one with garbage. */
const youngMb = 12;
/** Maximum wait for an answer of the thread, whose disk may hang. */
const answerMs = 59_000;
/** Extra time to read answers that arrived while this process stood still. */
const overdueMs = 1_000;
/** Maximum wait for the end of the thread. */
const endMs = 15_000;

const logGone =
  'The last process on this database was killed, and the write-ahead log (the -wal file) is gone. If it was deleted, the latest changes are lost: stop the server and restore that file or a backup.';

/**
 * Embedded store: the SQL store in a thread, so that statements do not block the event loop. `start` locks the folder, opens the
 * database and migrates its schema.
 * @throws StoreError from `start`, if the folder is in use or the database is unusable
 */
export function createSqliteStore({ path, clock, log }: SqliteStoreOptions): Store {
  let worker: Worker | undefined;
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let lastId = 0;
  const calls = new Map<
    number,
    { timer: Timer; resolve(value: unknown): void; reject(error: Error): void }
  >();
  const unanswered = createSharedTimer(clock, answerMs);
  const overdue = createSharedTimer(clock, overdueMs);

  const send = (request: Request, transfer: ArrayBuffer[] = []) => worker!.postMessage(request, transfer);

  const rejectAll = (reason: string) => {
    for (const call of calls.values()) {
      call.timer.cancel();
      call.reject(new StoreError('stopped', reason, 'Start the service again; what was answered is stored.'));
    }
    calls.clear();
  };

  const settle = (message: Extract<Reply, { id: number }>) => {
    const call = calls.get(message.id);
    calls.delete(message.id);
    call?.timer.cancel();
    if (message.type === 'done') call?.resolve(unpackRows(message.value));
    else call?.reject(unpackError(message.error));
  };

  const launch = () =>
    new Promise<void>((resolve, reject) => {
      requireSqlite();
      const workerData: WorkerOptions = { path };
      // A regular end removes the log.
      const isLogGone = wasKilled(dirname(path)) && existsSync(path) && !existsSync(`${path}-wal`);
      const ready = ({ warning }: Extract<Reply, { type: 'ready' }>) => {
        if (isLogGone) log.warn({ database: path }, logGone);
        if (warning) log.warn(warning.fields, warning.message);
        resolve();
      };
      worker = new Worker(programFile('store/sqlite/worker'), {
        workerData,
        name: 'store',
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: youngMb },
      });
      worker.on('message', (message: Reply) => {
        if (message.type === 'ready') ready(message);
        else if (message.type === 'failed') reject(unpackError(message.error));
        else settle(message);
      });
      worker.on('error', (error) => {
        log.error({ err: error }, 'The database thread failed.');
        reject(error);
      });
      worker.on('exit', () => {
        worker = undefined;
        if (!stopped) rejectAll('The database thread has ended.');
        const message = 'The database thread ended while starting.';
        reject(new StoreError('stopped', message, 'Check the log for the cause.'));
      });
    });

  const end = async () => {
    await started?.catch(() => {});
    const ending = worker;
    if (!ending) return;
    const exited = new AbortController();
    ending.once('exit', () => exited.abort());
    send({ type: 'stop' });
    await sleep(clock, endMs, exited.signal);
    rejectAll('The store was stopped.');
    if (exited.signal.aborted) return;
    log.error({ database: path }, 'The database thread does not end: its disk does not respond.');
    ending.unref();
  };

  const call = (group: Group | null, operation: string, args: unknown[]) => {
    if (!worker || stopped)
      return Promise.reject(new StoreError('stopped', 'The store is not running.', 'Start it first.'));
    return new Promise<unknown>((resolve, reject) => {
      const id = ++lastId;
      const packed = args.map(packRows);
      send({ type: 'call', id, group, operation, args: packed, now: clock.now() }, buffersOf(packed));
      const giveUp = () => {
        calls.delete(id);
        const message = `The database ${path} has not answered for ${(answerMs + overdueMs) / 1000} s.`;
        reject(new StoreError('unreachable', message, 'Check the load and the health of its disk.'));
      };
      const timer = unanswered(() => calls.set(id, { timer: overdue(giveUp), resolve, reject }));
      calls.set(id, { timer, resolve, reject });
    });
  };

  return {
    ...eachOperation(
      (group, name) =>
        (...args: unknown[]) =>
          call(group, name, args),
    ),
    ping: () => call(null, 'ping', []) as Promise<number>,
    scrub: () => call(null, 'scrub', []) as Promise<void>,
    start: () => (started ??= launch()),
    stop: () => (stopped ??= end()),
  };
}

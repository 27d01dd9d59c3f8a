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
  /** The database file. Its folder is made if need be, and belongs to this process alone while the store runs. */
  path: string;
  clock: Clock;
  log: Log;
}

/** The thread holds little for long; what it may fill with garbage, it fills. */
const youngMb = 12;
/** The disk under the thread may hang: nobody waits longer than this for an answer. */
const answerMs = 59_000;
/** After a standstill of this process, answers that have come are read before this is over. */
const overdueMs = 1_000;
/** Nor for its end. */
const endMs = 15_000;

const logGone =
  'The last process on this database was killed, and the write-ahead log (the file with -wal) is gone. If it was deleted, what was stored last is lost: stop, and restore the file or a backup.';

interface Call {
  timer: Timer;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * The embedded store: the SQL store in a thread of its own, so that no statement ever blocks the event loop.
 * `start` takes the lock on the folder, opens the database and brings its schema up to date.
 * @throws StoreError from `start`, when the folder is in use or the database cannot be used
 */
export function createSqliteStore({ path, clock, log }: SqliteStoreOptions): Store {
  let worker: Worker | undefined;
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let lastId = 0;
  const calls = new Map<number, Call>();
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
      // A process that ends by itself removes its log.
      const isLogGone = wasKilled(dirname(path)) && existsSync(path) && !existsSync(`${path}-wal`);
      const ready = () => {
        if (isLogGone) log.warn({ database: path }, logGone);
        resolve();
      };
      worker = new Worker(programFile('store/sqlite/worker'), {
        workerData,
        name: 'store',
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: youngMb },
      });
      worker.on('message', (message: Reply) => {
        if (message.type === 'ready') ready();
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
        reject(
          new StoreError(
            'stopped',
            'The database thread ended while starting.',
            'Look in the log for the cause.',
          ),
        );
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
    log.error({ database: path }, 'The database thread does not end: its disk does not answer.');
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
        reject(silent(path));
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

function silent(path: string): StoreError {
  return new StoreError(
    'unreachable',
    `The database ${path} has not answered for ${(answerMs + overdueMs) / 1000} s.`,
    'Look at the load and the health of its disk.',
  );
}

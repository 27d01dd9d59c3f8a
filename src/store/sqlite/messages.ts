import { ApiError } from '../../core/errors.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { StoreOperations } from '../sql/sql-store.ts';
import { StoreError } from '../../core/store-error.ts';
import type { StoreErrorCode } from '../../core/store-error.ts';

/**
 * What crosses between the main thread and the database's: one message an operation, one an answer. Lists of rows are
 * packed (`packed-rows.ts`).
 */

export type Group = Exclude<keyof StoreOperations, 'ping' | 'scrub'>;

/** Every operation by name; the type makes it complete. */
export const operations: { [G in Group]: Record<keyof StoreOperations[G], true> } = {
  installation: { id: true, claim: true },
  orgs: { insert: true, get: true, list: true },
  keys: { insert: true, findByHash: true, list: true, revoke: true, touch: true },
  files: {
    insert: true,
    get: true,
    find: true,
    list: true,
    remove: true,
    removeExpired: true,
    knownBlobs: true,
    newestBlobs: true,
    removedBlobs: true,
    forgetRemoved: true,
  },
  batches: {
    create: true,
    get: true,
    find: true,
    list: true,
    cancel: true,
    expire: true,
    fail: true,
    atRisk: true,
    moveWindows: true,
    states: true,
    candidates: true,
    claim: true,
    release: true,
    split: true,
    running: true,
    shut: true,
    publish: true,
  },
  results: {
    record: true,
    recordMissing: true,
    missing: true,
    tail: true,
    errorSummary: true,
    leftovers: true,
    purge: true,
  },
  responses: {
    insert: true,
    storedBytes: true,
    get: true,
    chain: true,
    sizes: true,
    texts: true,
    finish: true,
    renew: true,
    abandoned: true,
    remove: true,
    removeExpired: true,
  },
  workers: { beat: true, missingModels: true, keepOnly: true, reap: true, leave: true, clear: true },
  ledger: { add: true, of: true, ofMany: true },
  webhooks: {
    insert: true,
    get: true,
    list: true,
    update: true,
    rotate: true,
    remove: true,
    deliveries: true,
    replay: true,
    addClaimed: true,
    claim: true,
    finish: true,
    release: true,
    removeDeliveries: true,
  },
};

export interface WorkerOptions {
  /** The database file. Its folder is locked. */
  path: string;
}

export type Request =
  | {
      type: 'call';
      id: number;
      /** Null for `ping` and `scrub`. */
      group: Group | null;
      operation: string;
      args: unknown[];
      /** The caller's clock: the thread has none of its own. */
      now: number;
    }
  | { type: 'stop' };

export type Reply =
  | { type: 'ready' }
  | { type: 'failed'; error: PackedError }
  | { type: 'done'; id: number; value: unknown }
  | { type: 'threw'; id: number; error: PackedError };

export type PackedError =
  | { type: 'store'; code: StoreErrorCode; message: string; hint: string }
  | { type: 'api'; code: ErrorCode; message: string }
  | { type: 'other'; name: string; message: string; stack: string | undefined };

export function packError(error: unknown): PackedError {
  if (error instanceof StoreError)
    return { type: 'store', code: error.code, message: error.message, hint: error.hint };
  if (error instanceof ApiError) return { type: 'api', code: error.code, message: error.message };
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  return { type: 'other', name, message, stack };
}

export function unpackError(packed: PackedError): Error {
  if (packed.type === 'store') return new StoreError(packed.code, packed.message, packed.hint);
  if (packed.type === 'api') return new ApiError(packed.code, packed.message);
  return Object.assign(new Error(packed.message), { name: packed.name, stack: packed.stack });
}

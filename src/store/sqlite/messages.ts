import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { Group } from '../sql/priority-classes.ts';
import { StoreError, type StoreErrorCode } from '../../core/store-error.ts';

/** Messages between the main thread and the database thread: one per operation and one per answer, with lists of rows packed. */

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
      /** Time of the caller; the thread has no clock of its own. */
      now: number;
    }
  | { type: 'stop' };

export type Reply =
  | { type: 'ready'; warning: { fields: Record<string, number>; message: string } | null }
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

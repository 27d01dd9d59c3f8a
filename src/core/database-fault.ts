import { ApiError } from './errors.ts';
import { StoreError, type StoreErrorCode } from './store-error.ts';

/** Faults that come from the database as a whole, whatever it was asked. */
const wholesale: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>([
  'locked',
  'unwritable',
  'disk_full',
  'unreachable',
  'refused',
  'stopped',
]);

/** Whether the database says so itself: no line, batch or request is to blame. */
export function isDatabaseOutage(error: unknown): boolean {
  return error instanceof StoreError && wholesale.has(error.code);
}

/**
 * Whether the database cannot be used at present, as opposed to refusing what it was asked to read or write.
 * @param error what an operation of the store threw
 * @param probe an operation that reads and writes and has nothing to do with the other
 */
export async function isDatabaseUnavailable(error: unknown, probe: () => Promise<unknown>): Promise<boolean> {
  // The only one a store throws: the disk is full.
  if (error instanceof ApiError) return true;
  if (isDatabaseOutage(error)) return true;
  return probe().then(
    () => false,
    () => true,
  );
}

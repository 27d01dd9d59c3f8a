import { ApiError } from './errors.ts';
import { StoreError, type StoreErrorCode } from './store-error.ts';

/** Errors of the database as a whole. */
const outageCodes: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>([
  'locked',
  'unwritable',
  'disk_full',
  'unreachable',
  'refused',
  'stopped',
]);

/** True if the error code alone shows an outage of the database. */
export function isDatabaseOutage(error: unknown): boolean {
  return error instanceof StoreError && outageCodes.has(error.code);
}

/**
 * True if the database is unusable at present, false if it rejected one particular operation.
 * @param error thrown by a store operation
 * @param probe unrelated operation that reads and writes
 */
export async function isDatabaseUnavailable(error: unknown, probe: () => Promise<unknown>): Promise<boolean> {
  // The only ApiError of a store: the disk is full.
  if (error instanceof ApiError || isDatabaseOutage(error)) return true;
  return probe().then(
    () => false,
    () => true,
  );
}

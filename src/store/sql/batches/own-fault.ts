import { ApiError } from '../../../core/errors.ts';
import { StoreError } from '../../../core/store-error.ts';

/** Whether an error may be the fault of the rows that were touched: what the database has as a whole is told in our own words. */
export function mayBeOfRows(error: unknown): boolean {
  return !(error instanceof StoreError || error instanceof ApiError);
}

import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Record of how each line got its result, as JSON (core/line.ts); null for lines that never ran and those of earlier versions. */
export const lineRuns: Migration = {
  version: 14,
  name: 'line-runs',
  statements: ({ text }: ColumnTypes) => [`ALTER TABLE batch_results ADD COLUMN run ${text}`],
};

import type { Migration } from './migration.ts';

/** Lists of batches by status, and of those made since an instant, without a walk over all others. */
export const batchLists: Migration = {
  version: 8,
  name: 'batch-lists',
  statements: () => [
    'CREATE INDEX batches_by_status ON batches (org_id, status, id)',
    'CREATE INDEX batches_by_creation ON batches (org_id, created_at, id)',
  ],
};

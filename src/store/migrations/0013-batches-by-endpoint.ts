import type { Migration } from './migration.ts';

/** Index of the lists of one endpoint: without it, a list that matches few batches reads all batches of its org. */
export const batchesByEndpoint: Migration = {
  version: 13,
  name: 'batches-by-endpoint',
  statements: () => ['CREATE INDEX batches_by_endpoint ON batches (org_id, endpoint, id)'],
};

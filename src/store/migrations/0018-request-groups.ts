import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Groups of single requests (core/request-group.ts): rows of `batches` with a tier, and the requests themselves. */
export const requestGroups: Migration = {
  version: 18,
  name: 'request-groups',
  statements: ({ blob, text }: ColumnTypes) => [
    `ALTER TABLE batches ADD COLUMN tier ${text}`,
    // body: the request as a line of a batch.
    `CREATE TABLE request_bodies (
      batch_id ${text} NOT NULL,
      line integer NOT NULL,
      body ${blob} NOT NULL,
      PRIMARY KEY (batch_id, line))`,
    // Single request that makes the response; null for one that its caller waits for.
    `ALTER TABLE responses ADD COLUMN request_id ${text}`,
    'CREATE INDEX responses_by_request ON responses (request_id) WHERE request_id IS NOT NULL',
  ],
};

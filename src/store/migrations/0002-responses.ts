import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

export const responses: Migration = {
  version: 2,
  name: 'responses',
  statements: ({ text }: ColumnTypes) => [
    // alive_until is null once the response is finished. input, body and pieces are JSON.
    `CREATE TABLE responses (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      status ${text} NOT NULL,
      previous_id ${text},
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      alive_until bigint,
      pieces ${text},
      input ${text} NOT NULL,
      body ${text} NOT NULL)`,
    'CREATE INDEX responses_by_expiry ON responses (expires_at, id)',
    'CREATE INDEX responses_unfinished ON responses (alive_until, id) WHERE alive_until IS NOT NULL',
  ],
};

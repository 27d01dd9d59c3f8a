import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/**
 * Sums of what each org and key stores: `org_id` of `response_usage` is the id of either. Rows from before have no key, and count for
 * their org alone.
 */
export const storage: Migration = {
  version: 7,
  name: 'storage',
  statements: ({ text }: ColumnTypes) => [
    `ALTER TABLE files ADD COLUMN key_id ${text}`,
    `ALTER TABLE responses ADD COLUMN key_id ${text}`,
    `ALTER TABLE chats ADD COLUMN key_id ${text}`,
    `ALTER TABLE conversations ADD COLUMN key_id ${text}`,
    'CREATE INDEX files_by_purpose ON files (org_id, purpose, id)',
    'ALTER TABLE response_usage ADD COLUMN file_bytes bigint NOT NULL DEFAULT 0',
    'ALTER TABLE response_usage ADD COLUMN responses bigint NOT NULL DEFAULT 0',
    `INSERT INTO response_usage (org_id, bytes, file_bytes, responses)
     SELECT org_id, 0, CAST(sum(bytes) AS bigint), CAST(sum(stored) AS bigint) FROM (
       SELECT org_id, bytes, 0 AS stored FROM files
       UNION ALL SELECT org_id, 0, 1 FROM responses
       UNION ALL SELECT org_id, 0, 1 FROM chats
       UNION ALL SELECT org_id, 0, 1 + (SELECT count(*) FROM conversation_items WHERE conversation_id = conversations.id)
         FROM conversations) AS parts
     WHERE TRUE GROUP BY org_id
     ON CONFLICT (org_id) DO UPDATE SET file_bytes = excluded.file_bytes, responses = excluded.responses`,
  ],
};

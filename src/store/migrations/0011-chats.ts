import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Chat completions that clients asked to be kept. */
export const chats: Migration = {
  version: 11,
  name: 'chats',
  statements: ({ text }: ColumnTypes) => [
    // metadata, messages and body are JSON, and come last: what is before them is read without them.
    `CREATE TABLE chats (
      id ${text} NOT NULL,
      org_id ${text} NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      model ${text} NOT NULL,
      metadata ${text} NOT NULL,
      body ${text} NOT NULL,
      messages ${text} NOT NULL,
      CONSTRAINT chats_by_id PRIMARY KEY (id))`,
    'CREATE INDEX chats_by_org ON chats (org_id, id)',
    'CREATE INDEX chats_by_expiry ON chats (expires_at, id)',
  ],
};

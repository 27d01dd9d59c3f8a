import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Conversations that are kept by themselves, apart from the responses that were made in them. */
export const keptConversations: Migration = {
  version: 10,
  name: 'kept-conversations',
  statements: ({ text }: ColumnTypes) => [
    // bytes are those of the items, last_seq the highest there ever was. metadata is JSON.
    `CREATE TABLE conversations (
      id ${text} NOT NULL,
      org_id ${text} NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      last_seq bigint NOT NULL,
      bytes bigint NOT NULL,
      metadata ${text} NOT NULL,
      CONSTRAINT conversations_by_id PRIMARY KEY (id))`,
    'CREATE INDEX conversations_by_expiry ON conversations (expires_at, id)',
    `CREATE TABLE conversation_items (
      conversation_id ${text} NOT NULL,
      seq bigint NOT NULL,
      id ${text} NOT NULL,
      item ${text} NOT NULL,
      CONSTRAINT conversation_items_by_place PRIMARY KEY (conversation_id, seq))`,
    'CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (conversation_id, id)',
  ],
};

import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Key that added an item. Items from before have none, and count for the key of their conversation. */
export const conversationItems: Migration = {
  version: 10,
  name: 'conversation-items',
  statements: ({ text }: ColumnTypes) => [`ALTER TABLE conversation_items ADD COLUMN key_id ${text}`],
};

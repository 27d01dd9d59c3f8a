import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Sessions of the console. */
export const consoleSessions: Migration = {
  version: 11,
  name: 'console-sessions',
  statements: ({ text }: ColumnTypes) => [
    `CREATE TABLE console_sessions (
      hash ${text} PRIMARY KEY,
      key_hash ${text} NOT NULL,
      key_is_configured integer NOT NULL,
      host ${text} NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL)`,
    'CREATE INDEX console_sessions_by_expiry ON console_sessions (expires_at)',
  ],
};

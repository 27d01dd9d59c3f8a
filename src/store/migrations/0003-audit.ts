import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Audit log of administrative changes, and its head. */
export const audit: Migration = {
  version: 3,
  name: 'audit',
  statements: ({ text }: ColumnTypes) => [
    `CREATE TABLE audit_log (
      sequence bigint PRIMARY KEY,
      at bigint NOT NULL,
      actor ${text},
      actor_name ${text} NOT NULL,
      action ${text} NOT NULL,
      target ${text} NOT NULL,
      old_value ${text},
      new_value ${text},
      address ${text},
      request_id ${text},
      previous_hash ${text} NOT NULL,
      hash ${text} NOT NULL)`,
    'CREATE INDEX audit_log_by_actor ON audit_log (actor, sequence)',
    'CREATE INDEX audit_log_by_action ON audit_log (action, sequence)',
    'CREATE INDEX audit_log_by_target ON audit_log (target, sequence)',
    // One row.
    `CREATE TABLE audit_head (id integer PRIMARY KEY, sequence bigint NOT NULL, hash ${text} NOT NULL)`,
  ],
};

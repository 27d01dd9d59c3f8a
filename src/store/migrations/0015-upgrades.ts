import type { Migration } from './migration.ts';

/** Versions of live processes, and migrations after which the last older process is gone. */
export const upgrades: Migration = {
  version: 15,
  name: 'upgrades',
  statements: () => [
    // 1: a process of version 0.1.0, which does not name its version.
    'ALTER TABLE workers ADD COLUMN schema_version integer NOT NULL DEFAULT 1',
    // One row per schema version, once sums were recounted.
    `CREATE TABLE finished_upgrades (
      version integer PRIMARY KEY,
      finished_at bigint NOT NULL)`,
  ],
};

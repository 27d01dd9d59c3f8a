import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** File names of the inputs of batches, and the text that searches look through (core/batch-search.ts). */
export const batchSearch: Migration = {
  version: 9,
  name: 'batch-search',
  statements: ({ text }: ColumnTypes) => [
    `ALTER TABLE batches ADD COLUMN input_name ${text}`,
    `ALTER TABLE batches ADD COLUMN search ${text}`,
    `UPDATE batches SET input_name = (
       SELECT filename FROM files WHERE files.id = input_file_id AND filename <> batches.id || '_input.jsonl')`,
    `UPDATE batches SET search =
       lower(substr(id || ' ' || COALESCE(input_name, '') || ' ' || COALESCE(metadata, ''), 1, 4096))`,
  ],
};

import type { ColumnTypes } from '../db.ts';

/** One change of the schema. It never changes once it is released; a later one corrects it (docs/design/migrations.md). */
export interface Migration {
  /** Consecutive, from 1. */
  version: number;
  name: string;
  statements(types: ColumnTypes): string[];
}

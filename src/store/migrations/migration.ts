import type { ColumnTypes } from '../db.ts';

/** One step of the schema. Once released it never changes; a later step corrects it. */
export interface Migration {
  /** Each is one more than the one before. */
  version: number;
  name: string;
  statements(types: ColumnTypes): string[];
}

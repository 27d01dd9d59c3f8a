import type { ColumnTypes } from '../db.ts';

/** One step of the schema. Once released it never changes; a later step corrects it. */
export interface Migration {
  /** From 1, without gaps. */
  version: number;
  name: string;
  statements(types: ColumnTypes): string[];
}

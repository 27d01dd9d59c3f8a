import type { ReactNode } from 'react';

/** Column of a table. */
export interface Column<Row> {
  /** Name in the address and in `visible`. */
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** `end` for numbers. */
  align?: 'end';
  /** Pixels; columns without a width share what is left. */
  width?: number;
  /** Value to sort by; a column without one cannot be sorted. */
  sortBy?: (row: Row) => string | number;
}

const flexibleWidth = 160;

/** Width below which a table scrolls sideways, in pixels. */
export function minWidth<Row>(columns: readonly Column<Row>[]): number {
  return columns.reduce((sum, { width = flexibleWidth }) => sum + width, 0);
}

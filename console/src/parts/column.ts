import type { ReactNode } from 'react';

/** Column of a table. */
export interface Column<Row> {
  /** Name in the address and in `visible`. */
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** `end` for numbers. */
  align?: 'end';
  /** Pixels, at least; absent for a long text. */
  width?: number;
  /** Value to sort by; a column without one cannot be sorted. */
  sortBy?: (row: Row) => string | number;
}

const flexibleWidth = 160;

/** Widths for CSS. In a wide table a column without a width, for long texts, has all that is left; otherwise all grow in proportion. */
export function cssWidths<Row>(columns: readonly Column<Row>[], others = 0): (number | string | undefined)[] {
  if (columns.some(({ width }) => width === undefined)) return columns.map(({ width }) => width);
  const total = minWidth(columns) + others;
  return columns.map(({ width }) => `${(100 * width!) / total}%`);
}

/** Width below which a table scrolls sideways, in pixels. */
export function minWidth<Row>(columns: readonly Column<Row>[]): number {
  return columns.reduce((sum, { width = flexibleWidth }) => sum + width, 0);
}

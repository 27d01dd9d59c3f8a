import { batchStatuses } from '../../../../src/core/batch.ts';
import { waitingReasons } from '../../../../src/core/waiting.ts';
import type { BatchFilters } from '../../api/batches.ts';

export const columnIds = [
  'name',
  'org',
  'state',
  'progress',
  'done',
  'failed',
  'rate',
  'eta',
  'cost',
  'saved',
  'model',
  'created',
  'id',
] as const;
export type ColumnId = (typeof columnIds)[number];

/** Columns at first: fewer on a narrow screen, so that the state is seen without scrolling, and more on a wide one. */
export const defaultColumns: Readonly<Record<ScreenWidth, readonly ColumnId[]>> = {
  narrow: ['name', 'state', 'progress'],
  normal: columnIds.filter((id) => !['id', 'created', 'model', 'saved', 'done'].includes(id)),
  wide: columnIds.filter((id) => id !== 'id'),
};

export type ScreenWidth = 'narrow' | 'normal' | 'wide';

/** State of the list that a link shares. */
export interface BatchesSearch extends BatchFilters {
  /** Ids of the columns shown, with commas; the default ones if absent. */
  columns?: string | undefined;
}

/** Reads the search parameters of an address. Unknown values are ignored, because anyone can write an address. */
export function parseBatchesSearch(given: Record<string, unknown>): BatchesSearch {
  const text = (name: string) => {
    const value = given[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 200) : undefined;
  };
  const oneOf = <T extends string>(name: string, values: readonly T[]) =>
    values.find((value) => value === given[name]);
  const isAtRisk = given['at_risk'];
  const search: BatchesSearch = {
    q: text('q'),
    status: oneOf('status', batchStatuses),
    waiting: oneOf('waiting', ['any', ...waitingReasons]),
    at_risk: isAtRisk === true || isAtRisk === 'true' ? true : undefined,
    model: text('model'),
    org: text('org'),
    columns: columnsIn(text('columns')),
  };
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ''),
  );
}

function columnsIn(text: string | undefined): string | undefined {
  const known = (text ?? '').split(',').filter((id) => (columnIds as readonly string[]).includes(id));
  return known.length === 0 ? undefined : known.join(',');
}

export function columnsOf({ columns }: BatchesSearch, width: ScreenWidth): readonly string[] {
  return columns?.split(',') ?? defaultColumns[width];
}

export function filtersOf({ q, status, waiting, at_risk, model, org }: BatchesSearch): BatchFilters {
  const filters = { q, status, waiting, at_risk, model, org };
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

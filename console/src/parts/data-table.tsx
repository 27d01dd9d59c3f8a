import {
  columnVisibilityFeature,
  type ColumnDef,
  createSortedRowModel,
  type RowSelectionState,
  rowSelectionFeature,
  type RowData,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  type Updater,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { type Column, minWidth, cssWidths } from './column.ts';
import { DataRow } from './data-row.tsx';
import css from './table.module.css';
import { useRowKeys } from './use-row-keys.ts';
import { useStable } from './use-stable.ts';

interface DataTableProps<Row extends RowData> {
  /** Name of the table for screen readers, not shown. */
  caption: string;
  /** Stable between renders, as `rows` and `rowId`. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowId: (row: Row) => string;
  /** Name of a row for screen readers, where rows are selected. */
  rowName?: (row: Row) => string;
  /** Ids of the columns shown; all if absent. */
  visible?: readonly string[];
  /** Shown in place of rows. */
  empty?: ReactNode;
  /** Opens a row, by click or Enter. */
  onOpen?: (row: Row) => void;
  sorting?: SortingState;
  onSort?: (sorting: SortingState) => void;
  /** Selected rows by id. */
  selection?: RowSelectionState;
  onSelect?: (selection: RowSelectionState) => void;
  /** Height of a box in which the rows scroll, such as `70vh`: only rows in view exist then. All rows are shown if absent. */
  height?: string;
  /** Called near the end of the rows, to load more. */
  onEnd?: () => void;
  /** Number of all rows, where more can be loaded. */
  total?: number;
}

const features = tableFeatures({
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});

const rowHeight = 36;
const noSelection: RowSelectionState = {};
const noSorting: SortingState = [];

/** Table with sorting, selection and rows by the thousand. It scrolls sideways in its own box. */
export function DataTable<Row extends RowData>(props: DataTableProps<Row>) {
  const { columns, rows, rowId, visible, onOpen, onSort, onSelect, onEnd, height } = props;
  const { sorting = noSorting, selection = noSelection } = props;
  const box = useRef<HTMLDivElement>(null);
  const definitions = useMemo(() => columns.map(toDefinition), [columns]);
  const shown = useMemo(() => columns.filter(({ id }) => visible?.includes(id) ?? true), [columns, visible]);
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowId,
    state: { sorting, rowSelection: selection, columnVisibility: visibility(columns, visible) },
    onSortingChange: (change: Updater<SortingState>) => onSort?.(next(change, sorting)),
    onRowSelectionChange: (change: Updater<RowSelectionState>) => onSelect?.(next(change, selection)),
  });
  const all = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: all.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    enabled: height !== undefined,
  });
  const items = height === undefined ? undefined : virtual.getVirtualItems();
  const first = items?.[0]?.index ?? 0;
  const last = items ? (items.at(-1)?.index ?? -1) : all.length - 1;
  const isNearEnd = items !== undefined && last >= all.length - 20;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, all.length, onEnd]);
  const open = onOpen && ((index: number) => onOpen(all[index]!.original));
  const rowKeys = useRowKeys(box, {
    count: all.length,
    open,
    toggle: onSelect && ((index) => all[index]!.toggleSelected()),
    scrollTo: (index) => items && virtual.scrollToIndex(index),
  });
  const on = useStable({
    open,
    focus: rowKeys.setActive,
    select: (index: number, isSelected: boolean) => all[index]!.toggleSelected(isSelected),
  });

  const select = onSelect ? 36 : 0;
  const width = minWidth(shown) + select;
  const span = shown.length + (onSelect ? 1 : 0);
  return (
    <div ref={box} className={css.box} style={{ maxHeight: height }}>
      <table
        className={css.table}
        style={{ minWidth: width }}
        aria-rowcount={(props.total ?? all.length) + 1}
        onKeyDown={rowKeys.onKeyDown}
      >
        <caption className="visually-hidden">{props.caption}</caption>
        <colgroup>
          {onSelect && <col style={{ width: select }} />}
          {cssWidths(shown, select).map((each, index) => (
            <col key={shown[index]!.id} style={{ width: each }} />
          ))}
        </colgroup>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} aria-rowindex={1}>
              {onSelect && (
                <th scope="col" className={css.select}>
                  <label>
                    <input
                      type="checkbox"
                      aria-label="Select all rows"
                      checked={all.length > 0 && table.getIsAllRowsSelected()}
                      onChange={table.getToggleAllRowsSelectedHandler()}
                    />
                  </label>
                </th>
              )}
              {group.headers.map((header) => {
                const column = columns.find(({ id }) => id === header.column.id)!;
                const sorted = header.column.getIsSorted();
                const canSort = onSort !== undefined && column.sortBy !== undefined;
                return (
                  <th
                    key={header.id}
                    scope="col"
                    data-align={column.align}
                    aria-sort={sorted ? (sorted === 'asc' ? 'ascending' : 'descending') : undefined}
                  >
                    {canSort ? (
                      <button
                        type="button"
                        className={css.sort}
                        onClick={header.column.getToggleSortingHandler()}
                      >
                        {column.header}
                        <span aria-hidden="true">{sorted ? (sorted === 'asc' ? ' ↑' : ' ↓') : ''}</span>
                      </button>
                    ) : (
                      column.header
                    )}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {items && <Spacer height={items[0]?.start ?? 0} span={span} />}
          {all.slice(first, last + 1).map((row, offset) => {
            const index = first + offset;
            return (
              <DataRow
                key={row.id}
                row={row.original}
                columns={shown}
                index={index}
                name={props.rowName?.(row.original) ?? `row ${index + 1}`}
                isSelected={onSelect && row.getIsSelected()}
                isCurrent={rowKeys.isCurrent(index)}
                canOpen={onOpen !== undefined}
                onFocus={on.focus}
                onOpen={on.open}
                onSelect={on.select}
              />
            );
          })}
          {items && <Spacer height={virtual.getTotalSize() - (items.at(-1)?.end ?? 0)} span={span} />}
          {all.length === 0 && props.empty && (
            <tr>
              <td colSpan={span} className={css.empty}>
                {props.empty}
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** Space of the rows out of view. */
function Spacer({ height, span }: { height: number; span: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td colSpan={span} className={css.spacer} style={{ height }} />
    </tr>
  );
}

function toDefinition<Row extends RowData>({
  id,
  header,
  cell,
  sortBy,
}: Column<Row>): ColumnDef<typeof features, Row> {
  return {
    id,
    header,
    accessorFn: sortBy ?? (() => null),
    enableSorting: sortBy !== undefined,
    sortFn: (a, b) => compare(sortBy?.(a.original), sortBy?.(b.original)),
    cell: ({ row }) => cell(row.original),
  };
}

function compare(a: string | number = '', b: string | number = ''): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b));
}

function visibility<Row extends RowData>(
  columns: readonly Column<Row>[],
  visible: readonly string[] | undefined,
) {
  return Object.fromEntries(columns.map(({ id }) => [id, visible?.includes(id) ?? true]));
}

function next<T>(change: Updater<T>, current: T): T {
  return typeof change === 'function' ? (change as (value: T) => T)(current) : change;
}

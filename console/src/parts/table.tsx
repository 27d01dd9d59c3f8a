import { type Column, minWidth, cssWidths } from './column.ts';
import css from './table.module.css';

interface TableProps<Row> {
  /** Name of the table for screen readers, not shown. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowId: (row: Row) => string;
}

/** Table of a few rows, all shown, with long texts in full. `DataTable` is for many. It scrolls sideways in its own box. */
export function Table<Row>({ caption, columns, rows, rowId }: TableProps<Row>) {
  return (
    <div className={css.box} role="region" aria-label={caption} tabIndex={0}>
      <table className={`${css.table} ${css.whole}`} style={{ minWidth: minWidth(columns) }}>
        <caption className="visually-hidden">{caption}</caption>
        <colgroup>
          {cssWidths(columns).map((width, index) => (
            <col key={columns[index]!.id} style={{ width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map(({ id, header, align }) => (
              <th key={id} scope="col" data-align={align}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowId(row)}>
              {columns.map(({ id, cell, align }) => (
                <td key={id} data-align={align}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

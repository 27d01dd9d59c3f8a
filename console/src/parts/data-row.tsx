import { memo } from 'react';
import type { Column } from './column.ts';
import css from './table.module.css';

interface DataRowProps<Row> {
  row: Row;
  /** Columns shown. */
  columns: readonly Column<Row>[];
  index: number;
  /** For screen readers. */
  name: string;
  /** Undefined where rows are not selected. */
  isSelected: boolean | undefined;
  /** True for the row that the Tab key reaches. */
  isCurrent: boolean;
  canOpen: boolean;
  onFocus: (index: number) => void;
  onOpen: (index: number) => void;
  onSelect: (index: number, isSelected: boolean) => void;
}

/** Row of a table, which renders again when its own data change. */
export const DataRow = memo(function DataRow<Row>(props: DataRowProps<Row>) {
  const { row, columns, index, name, isSelected, isCurrent, canOpen, onFocus, onOpen, onSelect } = props;
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-open={canOpen || undefined}
      {...(canOpen && {
        tabIndex: isCurrent ? 0 : -1,
        onFocus: () => onFocus(index),
        onClick: (event) => isPlainClick(event) && onOpen(index),
      })}
    >
      {isSelected !== undefined && (
        <td className={css.select}>
          <label>
            <input
              type="checkbox"
              aria-label={`Select ${name}`}
              // One stop of the Tab key for all rows, beside the row itself.
              tabIndex={isCurrent ? 0 : -1}
              checked={isSelected}
              onChange={({ target }) => onSelect(index, target.checked)}
            />
          </label>
        </td>
      )}
      {columns.map(({ id, align, cell }) => (
        <td key={id} data-align={align}>
          {align ? cell(row) : <div className={css.text}>{cell(row)}</div>}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: DataRowProps<Row>) => React.ReactNode;

/** False for a click on a link, a button or a field in the row, and for one that ends a selection of text. */
function isPlainClick({ target }: { target: EventTarget }): boolean {
  const inner = target instanceof Element && target.closest('a, button, input, label, select');
  return !inner && String(document.getSelection() ?? '') === '';
}

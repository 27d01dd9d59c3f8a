import { useVirtualizer } from '@tanstack/react-virtual';
import { type UIEvent, useEffect, useRef } from 'react';
import { useRowKeys } from '../../parts/use-row-keys.ts';
import { useStable } from '../../parts/use-stable.ts';
import table from '../../parts/table.module.css';
import css from './lines.module.css';
import { LineRow } from './line-row.tsx';
import type { LineRows } from './use-lines.ts';

interface LineListProps {
  rows: LineRows;
  /** Number of the open line. */
  open: number | undefined;
  /** True for an operator, who sees servers in place of texts. */
  isOperator: boolean;
  onOpen: (line: number) => void;
}

const rowHeight = 32;

/** Lines as a table whose rows exist while they are in view. A row that is not loaded yet has its number. */
export function LineList({ rows, open, isOperator, onOpen }: LineListProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const { onRange } = rows;
  const { startIndex: first = 0, endIndex: last = 0 } = virtual.range ?? {};
  useEffect(() => onRange(first, last));
  /** Names the rows in view before the virtualizer renders them, so that their request does not wait for it. */
  const announce = ({ currentTarget: { scrollTop } }: UIEvent) => {
    const end = Math.ceil((scrollTop + (virtual.scrollRect?.height ?? 0)) / rowHeight) - 1;
    onRange(Math.floor(scrollTop / rowHeight), Math.min(end, rows.count - 1));
  };
  const openAt = (index: number) => {
    const line = rows.numberAt(index);
    if (line !== undefined) onOpen(line);
  };
  const keys = useRowKeys(box, {
    count: rows.count,
    open: openAt,
    scrollTo: (index) => virtual.scrollToIndex(index),
  });
  const on = useStable({ focus: keys.setActive, open: openAt });
  return (
    <div
      ref={box}
      className={`${table.box} ${css.box}`}
      data-narrow={open !== undefined}
      onScrollCapture={announce}
    >
      <table
        className={`${table.table} ${css.table}`}
        aria-rowcount={rows.count + 1}
        onKeyDown={keys.onKeyDown}
      >
        <caption className="visually-hidden">Lines</caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" className={css.number}>
              Line
            </th>
            <th scope="col" className={css.stateColumn}>
              State
            </th>
            <th scope="col" className={css.idColumn}>
              custom_id
            </th>
            {!isOperator && (
              <th scope="col" className={css.wide}>
                Request
              </th>
            )}
            <th scope="col">{isOperator ? 'Server' : 'Answer'}</th>
            <th scope="col" className={`${css.end} ${css.wide}`}>
              Tokens
            </th>
            <th scope="col" className={`${css.end} ${css.wide}`}>
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          <Spacer height={items[0]?.start ?? 0} />
          {items.map(({ index }) => {
            const number = rows.numberAt(index);
            return (
              <LineRow
                key={index}
                index={index}
                number={number}
                line={rows.at(index)}
                isOpen={number === open}
                isCurrent={keys.isCurrent(index)}
                onFocus={on.focus}
                onOpen={on.open}
              />
            );
          })}
          <Spacer height={virtual.getTotalSize() - (items.at(-1)?.end ?? 0)} />
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td className={table.spacer} style={{ height }} />
    </tr>
  );
}

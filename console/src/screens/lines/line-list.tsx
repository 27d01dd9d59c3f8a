import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { compact } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { useRowKeys } from '../../parts/use-row-keys.ts';
import table from '../../parts/table.module.css';
import css from './lines.module.css';
import { lineState, took } from './line-state.ts';
import type { Line } from './queries.ts';
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
const rowIndexOffset = 2;

/** Lines as a table whose rows exist while they are in view. A row that is not loaded yet has its number. */
export function LineList({ rows, open, isOperator, onOpen }: LineListProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  const { onRange } = rows;
  useEffect(() => onRange(first, last));
  const openAt = (index: number) => {
    const line = rows.numberAt(index);
    if (line !== undefined) onOpen(line);
  };
  const keys = useRowKeys(box, {
    count: rows.count,
    open: openAt,
    scrollTo: (index) => virtual.scrollToIndex(index),
  });
  return (
    <div ref={box} className={`${table.box} ${css.box}`} data-narrow={open !== undefined}>
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
            const line = rows.at(index);
            const number = rows.numberAt(index);
            return (
              <tr
                key={index}
                aria-rowindex={index + rowIndexOffset}
                aria-selected={number === open}
                data-open
                {...keys.rowProps(index)}
                onClick={() => openAt(index)}
              >
                <td className={css.number}>{number}</td>
                {line ? (
                  <Cells line={line} />
                ) : (
                  <td colSpan={3} className={css.pending} aria-label="Loading" />
                )}
              </tr>
            );
          })}
          <Spacer height={virtual.getTotalSize() - (items.at(-1)?.end ?? 0)} />
        </tbody>
      </table>
    </div>
  );
}

function Cells({ line }: { line: Line }) {
  const { kind, word } = lineState[line.state];
  return (
    <>
      <td className={css.stateColumn}>
        <State kind={kind}>{line.error?.code ?? word}</State>
      </td>
      <td className={css.idColumn} title={line.custom_id ?? undefined}>
        {line.custom_id ?? '–'}
      </td>
      {'preview' in line ? (
        <>
          <td className={css.wide}>{line.preview.input}</td>
          <td>{line.preview.output}</td>
        </>
      ) : (
        <td>{line.server}</td>
      )}
      <td className={`${css.end} ${css.wide}`}>{line.usage ? compact(line.usage.total_tokens) : ''}</td>
      <td className={`${css.end} ${css.wide}`}>{line.duration_ms === null ? '' : took(line.duration_ms)}</td>
    </>
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

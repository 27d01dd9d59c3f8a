import { memo } from 'react';
import { compact } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import css from './lines.module.css';
import { lineState, took } from './line-state.ts';
import type { Line } from './queries.ts';

interface LineRowProps {
  index: number;
  number: number | undefined;
  /** Undefined until it is loaded. */
  line: Line | undefined;
  isOpen: boolean;
  /** True for the row that the Tab key reaches. */
  isCurrent: boolean;
  onFocus: (index: number) => void;
  onOpen: (index: number) => void;
}

const rowIndexOffset = 2;

/** Row of a line, which renders again when its own data change. */
export const LineRow = memo(function LineRow(props: LineRowProps) {
  const { index, number, line, isOpen, isCurrent, onFocus, onOpen } = props;
  return (
    <tr
      aria-rowindex={index + rowIndexOffset}
      aria-selected={isOpen}
      data-open
      tabIndex={isCurrent ? 0 : -1}
      onFocus={() => onFocus(index)}
      onClick={() => onOpen(index)}
    >
      <td className={css.number}>{number}</td>
      {line ? <Cells line={line} /> : <td colSpan={3} className={css.pending} aria-label="Loading" />}
    </tr>
  );
});

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

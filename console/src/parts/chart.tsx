import { type ReactNode, type RefObject, useId, useState } from 'react';
import css from './chart.module.css';
import type { Column } from './column.ts';
import { Table } from './table.tsx';

export interface LegendEntry {
  id: string;
  label: string;
  /** Custom property of its colour; absent for a value that is not drawn. */
  colour?: string;
  value: string;
}

/** Point of a chart, as text. */
export interface ChartPoint {
  /** Instant or day. */
  at: string;
  values: readonly string[];
}

interface ChartProps {
  /** From `usePlot`. */
  plot: RefObject<HTMLDivElement | null>;
  /** Content of the chart, for screen readers. */
  label: string;
  /** Time of the values in the legend. */
  when: string;
  legend: readonly LegendEntry[];
  /** Says how to choose a part of the chart, or all of it again. */
  hint: ReactNode;
  /** Names of the values of a point, and the points in the order of time. Called when the reader opens their table. */
  points: { names: readonly string[]; rows: () => readonly ChartPoint[] };
}

/** Frame of a chart, with the values at the pointer in its legend, and all values in a table that opens. By keys it is a slider along its points. */
export function Chart({ plot, label, when, legend, hint, points }: ChartProps) {
  const keysId = useId();
  return (
    <figure className={css.chart}>
      <div
        ref={plot}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-describedby={keysId}
        aria-valuemin={0}
        aria-valuenow={0}
        aria-valuetext={[when, ...legend.map(({ label: name, value }) => `${name} ${value}`)].join(', ')}
        className={css.plot}
      />
      <ul className={css.legend}>
        <li className={css.when}>{when}</li>
        {legend.map(({ id, label: name, colour, value }) => (
          <li key={id}>
            {colour && <span className={css.swatch} style={{ background: `var(${colour})` }} />}
            <span className={css.name} title={name}>
              {name}
            </span>
            <span className={css.value}>{value}</span>
          </li>
        ))}
        <li className={css.hint}>{hint}</li>
        <li id={keysId} className={css.keys}>
          Arrow keys move, with Shift they mark a part, Enter chooses it
        </li>
      </ul>
      <Points label={label} {...points} />
    </figure>
  );
}

/** Values of a chart as a table, for those who do not see it or want the numbers. */
function Points({ label, names, rows }: ChartProps['points'] & { label: string }) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? rows().map((point, index) => ({ ...point, index })) : [];
  const columns: readonly Column<(typeof shown)[number]>[] = [
    { id: 'at', header: 'Time', cell: ({ at }) => at },
    ...names.map((name, n): (typeof columns)[number] => ({
      id: `${n}`,
      header: name,
      align: 'end',
      cell: ({ values }) => values[n],
    })),
  ];
  return (
    <details className={css.points} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen && <Table caption={label} columns={columns} rows={shown} rowId={({ index }) => `${index}`} />}
    </details>
  );
}

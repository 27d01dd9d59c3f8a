import type { ReactNode, RefObject } from 'react';
import css from './chart.module.css';

export interface LegendEntry {
  id: string;
  label: string;
  /** Custom property of its colour; absent for a value that is not drawn. */
  colour?: string;
  value: ReactNode;
}

interface ChartProps {
  /** From `usePlot`. */
  plot: RefObject<HTMLDivElement | null>;
  /** Content of the chart, for screen readers. */
  label: string;
  /** Time of the values in the legend. */
  when: string;
  legend: readonly LegendEntry[];
}

/** Frame of a chart, with the values at the pointer in its legend. */
export function Chart({ plot, label, when, legend }: ChartProps) {
  return (
    <figure className={css.chart}>
      <div ref={plot} role="img" aria-label={label} className={css.plot} />
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
      </ul>
    </figure>
  );
}

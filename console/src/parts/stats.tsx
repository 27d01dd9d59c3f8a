import type { ReactNode } from 'react';
import css from './stats.module.css';

export interface Stat {
  label: string;
  value: ReactNode;
  /** Smaller text below the value. */
  note?: ReactNode;
}

/** A row of numbers with their labels. */
export function Stats({ stats }: { stats: readonly Stat[] }) {
  return (
    <dl className={css.stats}>
      {stats.map(({ label, value, note }) => (
        <div key={label} className={css.stat}>
          <dt>{label}</dt>
          <dd className={css.value}>{value}</dd>
          <dd className={css.note}>{note}</dd>
        </div>
      ))}
    </dl>
  );
}

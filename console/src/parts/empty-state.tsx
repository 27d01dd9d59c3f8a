import type { ReactNode } from 'react';
import css from './states.module.css';

/** Says that there is nothing to show, and what to do. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.state}>
      <p className={css.title}>{title}</p>
      {children && <div className={css.body}>{children}</div>}
    </div>
  );
}

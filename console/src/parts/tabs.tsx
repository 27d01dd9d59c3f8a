import type { ReactNode } from 'react';
import css from './tabs.module.css';

/** Links to the parts of a screen; the link to the part shown has `aria-current="page"`. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav aria-label={label} className={css.tabs}>
      {children}
    </nav>
  );
}

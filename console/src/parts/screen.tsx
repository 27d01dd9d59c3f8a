import type { ReactNode } from 'react';
import css from './screen.module.css';

interface ScreenProps {
  /** Heading, and title of the tab. */
  title: string;
  /** Buttons beside the heading. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A screen with its heading. */
export function Screen({ title, actions, children }: ScreenProps) {
  return (
    <>
      <title>{`${title} · Offpeak`}</title>
      <div className={css.head}>
        <h1>{title}</h1>
        {actions && <div className={css.actions}>{actions}</div>}
      </div>
      <div className={css.sections}>{children}</div>
    </>
  );
}

interface SectionProps {
  title: string;
  /** Text or controls beside the heading. */
  aside?: ReactNode;
  children: ReactNode;
}

/** A part of a screen under a heading of its own. */
export function Section({ title, aside, children }: SectionProps) {
  return (
    <section>
      <div className={css.sectionHead}>
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

import type { ReactNode } from 'react';
import { PauseButton } from './pause-button.tsx';
import css from './screen.module.css';

interface ScreenProps {
  /** Heading, and title of the tab. */
  title: string;
  /** Link to the screen of which this one shows a part. */
  parent?: ReactNode;
  /** State of what the screen shows, behind the heading. */
  mark?: ReactNode;
  /** True where the screen changes by itself: its updates can be paused. */
  isLive?: boolean;
  /** Buttons beside the heading. */
  actions?: ReactNode;
  /** `Tabs` below the heading. */
  tabs?: ReactNode;
  children: ReactNode;
}

/** A screen with its heading. */
export function Screen({ title, parent, mark, isLive, actions, tabs, children }: ScreenProps) {
  return (
    <>
      <title>{`${title} · Offpeak`}</title>
      <div className={css.head}>
        <div className={css.title}>
          {parent && (
            <nav aria-label="Breadcrumb" className={css.parent}>
              {parent} <span aria-hidden="true">/</span>
            </nav>
          )}
          <h1>{title}</h1>
          {mark}
        </div>
        {(isLive || actions) && (
          <div className={css.actions}>
            {isLive && <PauseButton />}
            {actions}
          </div>
        )}
      </div>
      {tabs && <div className={css.tabs}>{tabs}</div>}
      <div className={css.sections}>{children}</div>
    </>
  );
}

/** Sections that stand beside each other on a wide screen. */
export function Pair({ children }: { children: ReactNode }) {
  return <div className={css.pair}>{children}</div>;
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

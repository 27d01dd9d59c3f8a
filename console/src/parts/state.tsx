import type { ReactNode } from 'react';
import css from './state.module.css';

/** Kinds of states, each with a shape of its own: colour is never the only difference. */
export type StateKind = 'done' | 'running' | 'waiting' | 'warning' | 'failed' | 'stopped';

const shapes: Readonly<Record<StateKind, ReactNode>> = {
  done: <path d="M2.5 6.5 5 9l4.5-6" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  running: (
    <>
      <circle cx="6" cy="6" r="4.6" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M6 1.4a4.6 4.6 0 0 1 0 9.2z" fill="currentColor" />
    </>
  ),
  waiting: (
    <circle
      cx="6"
      cy="6"
      r="4.6"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeDasharray="2.4 2.4"
    />
  ),
  warning: <path d="M6 1.2 11.4 10.8H.6z" fill="currentColor" />,
  failed: <path d="m2.5 2.5 7 7m0-7-7 7" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  stopped: <rect x="2" y="2" width="8" height="8" rx="1" fill="currentColor" />,
};

/** A state as a shape and a word. */
export function State({ kind, children }: { kind: StateKind; children: ReactNode }) {
  return (
    <span className={css.state} data-kind={kind}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        {shapes[kind]}
      </svg>
      <span>{children}</span>
    </span>
  );
}

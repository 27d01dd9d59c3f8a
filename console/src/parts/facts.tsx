import { Fragment, type ReactNode } from 'react';
import css from './facts.module.css';

export interface Fact {
  label: string;
  value: ReactNode;
}

/** Properties of one thing, each with its name. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className={css.facts}>
      {facts.map(({ label, value }) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** One fact of a list whose facts stand beside each other. */
export function NamedFact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

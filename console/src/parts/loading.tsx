import css from './states.module.css';

interface LoadingProps {
  /** End of the sentence "Loading ...", for screen readers. */
  what: string;
  /** Number of lines of the same height as the rows of a table, so that nothing jumps when they come. */
  rows?: number;
}

export function Loading({ what, rows = 3 }: LoadingProps) {
  return (
    <div role="status" className={css.loading}>
      <span className="visually-hidden">Loading {what}</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className={css.bone} aria-hidden="true" />
      ))}
    </div>
  );
}

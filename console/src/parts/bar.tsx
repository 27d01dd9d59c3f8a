import css from './bar.module.css';

export interface BarPart {
  kind: 'done' | 'failed' | 'running';
  value: number;
}

interface BarProps {
  /** From left to right. */
  parts: readonly BarPart[];
  total: number;
  /** The same in words: `120 of 1,000 done, 3 failed`. */
  label: string;
}

/** Progress in parts. A part above zero is at least two pixels wide, so that one failure of a million is seen. */
export function Bar({ parts, total, label }: BarProps) {
  return (
    <span role="img" aria-label={label} title={label} className={css.bar}>
      {parts
        .filter(({ value }) => value > 0)
        .map(({ kind, value }) => (
          <span
            key={kind}
            className={css.part}
            data-kind={kind}
            style={{ width: `${Math.min(100, (100 * value) / Math.max(total, 1))}%` }}
          />
        ))}
    </span>
  );
}

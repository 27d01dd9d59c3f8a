import { count } from './format.ts';
import { Bar } from './bar.tsx';
import css from './usage.module.css';

/** A part in use of a number of slots or a limit, as a bar and in numbers. */
export function Usage({ used, of }: { used: number; of: number }) {
  const text = `${count(used)} / ${count(of)}`;
  return (
    <span className={css.usage}>
      <Bar
        label={`${count(used)} of ${count(of)} in use`}
        total={of}
        parts={[{ kind: 'running', value: used }]}
      />
      <span aria-hidden="true">{text}</span>
    </span>
  );
}

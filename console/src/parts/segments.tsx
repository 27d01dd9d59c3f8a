import { compact, count } from './format.ts';
import css from './segments.module.css';

export interface Segment {
  label: string;
  isOn: boolean;
  onChoose: () => void;
  /** Number of things that it stands for; undefined if unknown. */
  size?: number | undefined;
  /** True if there may be more. */
  isAtLeast?: boolean;
}

/** Buttons in a row of which one is on, with the number of things behind each. */
export function Segments({ label, segments }: { label: string; segments: readonly Segment[] }) {
  return (
    <div className={css.segments} role="group" aria-label={label}>
      {segments.map(({ label: name, isOn, onChoose, size, isAtLeast }) => (
        <button key={name} type="button" className={css.segment} aria-pressed={isOn} onClick={onChoose}>
          {name}
          {size !== undefined && (
            <>
              {' '}
              <span className={css.size} title={count(size) + (isAtLeast ? ' or more' : '')}>
                {compact(size)}
                {isAtLeast && '+'}
              </span>
            </>
          )}
        </button>
      ))}
    </div>
  );
}

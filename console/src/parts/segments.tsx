import { compact, count } from './format.ts';
import css from './segments.module.css';

/** Number of things; `isAtLeast` if there may be more. */
export interface Count {
  size: number;
  isAtLeast?: boolean;
}

export interface Segment {
  label: string;
  isOn: boolean;
  onChoose: () => void;
  /** Things that it stands for; undefined if unknown. */
  of?: Count | undefined;
}

/** Buttons in a row of which one is on, with the number of things behind each. */
export function Segments({ label, segments }: { label: string; segments: readonly Segment[] }) {
  return (
    <div className={css.segments} role="group" aria-label={label}>
      {segments.map(({ label: name, isOn, onChoose, of }) => (
        <button key={name} type="button" className={css.segment} aria-pressed={isOn} onClick={onChoose}>
          {name} <Size of={of} />
        </button>
      ))}
    </div>
  );
}

/** Number of things behind a choice; nothing while it is unknown. */
export function Size({ of }: { of: Count | undefined }) {
  if (!of) return null;
  const { size, isAtLeast } = of;
  return (
    <span className={css.size} title={count(size) + (isAtLeast ? ' or more' : '')}>
      {compact(size)}
      {isAtLeast && '+'}
    </span>
  );
}

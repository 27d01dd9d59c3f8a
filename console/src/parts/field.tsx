import { type ReactNode, useId } from 'react';
import css from './field.module.css';

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** The control, which takes the id of the label, and of the hint. */
  children: (ids: { id: string; 'aria-describedby': string | undefined }) => ReactNode;
}

/** A control under its label. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': hint ? `${id}-hint` : undefined })}
      {hint && (
        <p id={`${id}-hint`} className={css.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}

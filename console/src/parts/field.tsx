import { type ReactNode, useId } from 'react';
import css from './field.module.css';

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** Fault of the value, shown in place of the hint. */
  fault?: string | undefined;
  /** The control, which takes these attributes. */
  children: (control: {
    id: string;
    'aria-describedby': string;
    'aria-invalid': boolean | undefined;
  }) => ReactNode;
}

/** A control under its label, and its hint or fault below. */
export function Field({ label, hint, fault, children }: FieldProps) {
  const id = useId();
  const about = `${id}-about`;
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': fault === undefined ? undefined : true })}
      <p id={about} className={fault === undefined ? css.hint : css.fault}>
        {fault ?? hint}
      </p>
    </div>
  );
}

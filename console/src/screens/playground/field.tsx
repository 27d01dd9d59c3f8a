import { type ReactNode, useId } from 'react';
import css from './playground.module.css';

interface FieldProps {
  label: string;
  /** Fault of the value. */
  fault?: string | undefined;
  note?: string;
  children: (control: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ReactNode;
}

/** Control with its label, and with its fault below. */
export function Field({ label, fault, note, children }: FieldProps) {
  const id = useId();
  const about = `${id}-about`;
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': fault !== undefined })}
      <p id={about} className={fault === undefined ? css.note : css.fault}>
        {fault ?? note}
      </p>
    </div>
  );
}

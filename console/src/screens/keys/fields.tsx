import type { ComponentProps, ReactNode } from 'react';
import { Field } from '../../parts/field.tsx';

interface ValueFieldProps {
  label: string;
  hint?: ReactNode;
  value: string;
  onChange: (value: string) => void;
}

/** Field of one line of text, or of what `type` says. */
export function TextField({
  label,
  hint,
  value,
  onChange,
  ...input
}: ValueFieldProps & Omit<ComponentProps<'input'>, 'onChange'>) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input {...control} {...input} value={value} onChange={({ target }) => onChange(target.value)} />
      )}
    </Field>
  );
}

/** Field of a whole number that cannot be left out. */
export function NumberField(props: ValueFieldProps & { min: number; max: number }) {
  return <TextField {...props} type="number" required />;
}

/** Field with one of some values. */
export function SelectField({
  label,
  hint,
  value,
  onChange,
  ...select
}: ValueFieldProps & Omit<ComponentProps<'select'>, 'onChange'>) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <select {...control} {...select} value={value} onChange={({ target }) => onChange(target.value)} />
      )}
    </Field>
  );
}

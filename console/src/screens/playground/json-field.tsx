import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import css from './playground.module.css';

interface JsonFieldProps {
  label: string;
  text: string;
  example: string;
  fault: string | undefined;
  onChange: (text: string) => void;
}

/** JSON that few requests need: closed while it is empty. */
export function JsonField({ label, text, example, fault, onChange }: JsonFieldProps) {
  return (
    <details className={css.more} open={text !== ''}>
      <summary>{label}</summary>
      <Field label={`${label}, as JSON`} fault={fault}>
        {(control) => (
          <textarea
            {...control}
            className={css.json}
            rows={text === '' ? 3 : 10}
            spellCheck={false}
            value={text}
            onChange={({ target }) => onChange(target.value)}
          />
        )}
      </Field>
      {text === '' && <Button onClick={() => onChange(example)}>Insert an example</Button>}
    </details>
  );
}

import type { FormEvent, KeyboardEvent, ReactNode } from 'react';
import type { Draft, Faults } from './draft.ts';
import { toolsExample, schemaExample } from './examples.ts';
import { Field } from '../../parts/field.tsx';
import { JsonField } from './json-field.tsx';
import css from './playground.module.css';
import { formats, paths, type Format } from './search.ts';
import { Turns } from './turns.tsx';

interface RequestFormProps {
  format: Format;
  /** Id of the model; empty while the models load. */
  model: string;
  models: readonly string[];
  draft: Draft;
  faults: Faults;
  onFormat: (format: Format) => void;
  onModel: (model: string) => void;
  onDraft: (changes: Partial<Draft>) => void;
  onSend: () => void;
  /** Buttons. */
  actions: ReactNode;
}

export function RequestForm(props: RequestFormProps) {
  const { format, model, models, draft, faults, onDraft, onSend } = props;

  function submit(event: FormEvent): void {
    event.preventDefault();
    onSend();
  }

  function sendByKey(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onSend();
  }

  return (
    <form className={css.form} onSubmit={submit} onKeyDown={sendByKey} noValidate aria-label="Request">
      <div className={css.row}>
        <Field label="Format">
          {(control) => (
            <select
              {...control}
              value={format}
              onChange={({ target }) => props.onFormat(target.value as Format)}
            >
              {formats.map((name) => (
                <option key={name} value={name}>
                  {paths[name]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Model">
          {(control) => (
            <select {...control} value={model} onChange={({ target }) => props.onModel(target.value)}>
              {models.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Field label="System prompt">
        {(control) => (
          <textarea
            {...control}
            rows={2}
            value={draft.system}
            onChange={({ target }) => onDraft({ system: target.value })}
          />
        )}
      </Field>
      <Turns turns={draft.turns} fault={faults.turns} onChange={(turns) => onDraft({ turns })} />
      <JsonField
        label="Tools"
        text={draft.tools}
        example={toolsExample}
        fault={faults.tools}
        onChange={(tools) => onDraft({ tools })}
      />
      <JsonField
        label="JSON Schema of the answer"
        text={draft.schema}
        example={schemaExample}
        fault={faults.schema}
        onChange={(schema) => onDraft({ schema })}
      />
      <div className={css.row}>
        <Field label="Temperature" fault={faults.temperature}>
          {(control) => (
            <input
              {...control}
              inputMode="decimal"
              placeholder="Default"
              value={draft.temperature}
              onChange={({ target }) => onDraft({ temperature: target.value })}
            />
          )}
        </Field>
        <Field label="Maximum of output tokens" fault={faults.maxTokens}>
          {(control) => (
            <input
              {...control}
              inputMode="numeric"
              value={draft.maxTokens}
              onChange={({ target }) => onDraft({ maxTokens: target.value })}
            />
          )}
        </Field>
        <label className={css.check}>
          <input
            type="checkbox"
            checked={draft.stream}
            onChange={({ target }) => onDraft({ stream: target.checked })}
          />
          Stream the answer
        </label>
      </div>
      <div className={css.actions}>{props.actions}</div>
    </form>
  );
}

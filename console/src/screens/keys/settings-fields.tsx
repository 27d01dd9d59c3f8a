import { limitNames, type LimitName } from '../../../../src/core/limits.ts';
import { limitLabels } from '../../parts/limit-labels.ts';
import type { Draft } from './draft.ts';
import { SelectField, TextField } from './fields.tsx';
import css from './keys.module.css';

interface SettingsFieldsProps {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

/** Fields of the budget and the limits. */
export function SettingsFields({ draft, onChange }: SettingsFieldsProps) {
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change });
  const setLimit = (name: LimitName, value: string) => set({ limits: { ...draft.limits, [name]: value } });
  return (
    <>
      <fieldset className={css.group}>
        <legend>Budget</legend>
        <div className={css.columns}>
          <TextField
            label="USD"
            inputMode="decimal"
            value={draft.budget}
            placeholder="No budget"
            onChange={(budget) => set({ budget })}
          />
          <SelectField
            label="Period"
            value={draft.period}
            onChange={(period) => set({ period: period as Draft['period'] })}
          >
            <option value="month">A month (UTC)</option>
            <option value="total">In total</option>
          </SelectField>
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={draft.isHard}
            onChange={({ target }) => set({ isHard: target.checked })}
          />
          Reject requests when it is used up
        </label>
      </fieldset>
      <details className={css.group}>
        <summary>Limits</summary>
        <div className={css.columns}>
          {limitNames.map((name) => (
            <TextField
              key={name}
              label={limitLabels[name]}
              inputMode={name === 'queued_tokens' ? 'text' : 'numeric'}
              value={draft.limits[name]}
              placeholder={name === 'queued_tokens' ? 'qwen3=50000000' : 'Server default'}
              onChange={(value) => setLimit(name, value)}
            />
          ))}
        </div>
      </details>
    </>
  );
}

import { type ReactNode, useId } from 'react';
import css from './toolbar.module.css';

/** Filters above a table, in rows as wide as the screen allows. */
export function Toolbar({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="search" aria-label={label} className={css.toolbar}>
      {children}
    </div>
  );
}

export interface Choice {
  value: string;
  label: string;
}

interface ChoiceFieldProps {
  label: string;
  value: string;
  /** A value that is not among them is shown as it is: it may come from a link. */
  choices: readonly Choice[];
  onChange: (value: string) => void;
}

/** Filter with one of some values. */
export function ChoiceField({ label, value, choices, onChange }: ChoiceFieldProps) {
  const isListed = choices.some((choice) => choice.value === value);
  return (
    <label className={css.field}>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {!isListed && <option value={value}>{value}</option>}
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface DayFieldProps {
  label: string;
  /** UTC day, such as `2026-11-28`. */
  value: string;
  onChange: (value: string) => void;
}

/** Filter with a day. An empty field changes nothing. */
export function DayField({ label, value, onChange }: DayFieldProps) {
  return (
    <label className={css.field}>
      {label}
      <input
        type="date"
        value={value}
        onChange={({ target }) => target.value !== '' && onChange(target.value)}
      />
    </label>
  );
}

interface SearchFieldProps {
  label: string;
  value: string;
  placeholder?: string;
  onChange: (value: string) => void;
}

export function SearchField({ label, value, placeholder, onChange }: SearchFieldProps) {
  return (
    <label className={`${css.field} ${css.search}`}>
      {label}
      <input
        type="search"
        value={value}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

interface SuggestFieldProps {
  label: string;
  value: string;
  values: readonly string[];
  onChange: (value: string) => void;
}

/** Filter whose text counts when it is left, or with Enter. It suggests the known values. */
export function SuggestField({ label, value, values, onChange }: SuggestFieldProps) {
  const list = useId();
  return (
    <label className={css.field}>
      {label}
      <input
        list={list}
        key={value}
        defaultValue={value}
        placeholder="All"
        maxLength={200}
        onBlur={({ target }) => target.value !== value && onChange(target.value.trim())}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && onChange(currentTarget.value.trim())}
      />
      <datalist id={list}>
        {values.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}

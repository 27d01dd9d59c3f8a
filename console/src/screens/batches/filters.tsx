import { useEffect, useId, useRef, useState } from 'react';
import { batchStatuses } from '../../../../src/core/batch.ts';
import { waitingReasons } from '../../../../src/core/waiting.ts';
import { useQuery } from '@tanstack/react-query';
import { batchCountsQuery, sumCounts } from '../../api/batches.ts';
import { modelsQuery } from '../../api/models.ts';
import { orgsQuery } from '../../api/orgs.ts';
import { stateWord } from '../../parts/batch-state.ts';
import { Segments } from '../../parts/segments.tsx';
import { Button } from '../../parts/button.tsx';
import { Popover } from '../../parts/popover.tsx';
import { columns } from './columns.tsx';
import css from './batches.module.css';
import { type BatchesSearch, columnsOf, defaultColumns, filtersOf, type ScreenWidth } from './search.ts';

interface FiltersProps {
  search: BatchesSearch;
  onChange: (search: BatchesSearch) => void;
  isAdmin: boolean;
  /** Decides which columns are shown at first. */
  width: ScreenWidth;
}

/** Time without a key after which a text is searched for. */
const typingMs = 300;

/** Search field, filters and columns of the list; all of them are in the address. */
export function Filters({ search, onChange, isAdmin, width }: FiltersProps) {
  const set = (changes: BatchesSearch) => onChange({ ...search, ...changes });
  const hasFilter = Object.keys(filtersOf(search)).length > 0;
  const { data: models } = useQuery(modelsQuery);
  const { data: orgs = [] } = useQuery({ ...orgsQuery, enabled: isAdmin });
  return (
    <div className={css.filters} role="search" aria-label="Batches">
      <SearchField value={search.q ?? ''} onChange={(q) => set({ q: q || undefined })} />
      <Choice
        label="Waiting"
        value={search.waiting ?? ''}
        values={['any', ...waitingReasons]}
        onChange={(waiting) => set({ waiting: waiting || undefined })}
      />
      <TextFilter
        label="Model"
        value={search.model ?? ''}
        values={models?.data.map(({ id }) => id) ?? []}
        onChange={(model) => set({ model: model || undefined })}
      />
      {isAdmin && (
        <TextFilter
          label="Org"
          value={search.org ?? ''}
          values={orgs.map(({ name }) => name)}
          onChange={(org) => set({ org: org || undefined })}
        />
      )}
      <label className={css.check}>
        <input
          type="checkbox"
          checked={search.at_risk === true}
          onChange={({ target }) => set({ at_risk: target.checked || undefined })}
        />
        At risk
      </label>
      {hasFilter && (
        <Button kind="quiet" onClick={() => onChange({ columns: search.columns })}>
          Clear
        </Button>
      )}
      <ColumnMenu search={search} onChange={onChange} isAdmin={isAdmin} width={width} />
      <div className={css.states}>
        <States search={search} onChange={(status) => set({ status })} isAdmin={isAdmin} />
      </div>
    </div>
  );
}

interface StatesProps extends Pick<FiltersProps, 'search' | 'isAdmin'> {
  onChange: (status: BatchesSearch['status']) => void;
}

/** States with the number of batches in each. The numbers are those of an org or of all: other filters hide them. */
function States({ search, isAdmin, onChange }: StatesProps) {
  const { status, org, ...others } = filtersOf(search);
  const isCounted = Object.keys(others).length === 0;
  const { data } = useQuery({ ...batchCountsQuery(isAdmin, org), enabled: isCounted });
  const sizeOf = (states: readonly NonNullable<typeof status>[]) =>
    isCounted && data ? sumCounts(data, states) : {};
  return (
    <Segments
      label="State"
      segments={[
        {
          label: 'All',
          isOn: status === undefined,
          onChoose: () => onChange(undefined),
          ...sizeOf(batchStatuses),
        },
        ...batchStatuses.map((each) => ({
          label: stateWord(each),
          isOn: status === each,
          onChoose: () => onChange(each),
          ...sizeOf([each]),
        })),
      ]}
    />
  );
}

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  // Another address, such as by the back button.
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  const change = useRef(onChange);
  useEffect(() => {
    change.current = onChange;
  });
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => change.current(text), typingMs);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <input
      type="search"
      className={css.search}
      aria-label="Search by name, id or metadata"
      placeholder="Search name, ID, metadata"
      aria-keyshortcuts="/"
      data-search
      maxLength={200}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  values: readonly string[];
  onChange: (value: string) => void;
}

function Choice({ label, value, values, onChange }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{label}: all</option>
      {values.map((each) => (
        <option key={each} value={each}>
          {each.replaceAll('_', ' ')}
        </option>
      ))}
    </select>
  );
}

/** Field whose text counts when it is left, or with Enter. It suggests the known values. */
function TextFilter({ label, value, values, onChange }: ChoiceProps) {
  const list = useId();
  return (
    <>
      <input
        list={list}
        key={value}
        className={css.short}
        aria-label={label}
        placeholder={label}
        defaultValue={value}
        maxLength={200}
        onBlur={({ target }) => target.value !== value && onChange(target.value.trim())}
        onKeyDown={({ key, currentTarget }) => key === 'Enter' && onChange(currentTarget.value.trim())}
      />
      <datalist id={list}>
        {values.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}

function ColumnMenu({ search, onChange, isAdmin, width }: FiltersProps) {
  const shown = columnsOf(search, width);
  function toggle(id: string): void {
    const next = columns.map((column) => column.id).filter((each) => shown.includes(each) !== (each === id));
    const isDefault = next.join() === defaultColumns[width].join();
    onChange({ ...search, columns: isDefault || next.length === 0 ? undefined : next.join(',') });
  }
  return (
    <div className={css.columns}>
      <Popover label="Columns" title="Columns shown">
        {() =>
          columns
            .filter(({ id }) => isAdmin || id !== 'org')
            .map(({ id, header }) => (
              <label key={id} className={css.check}>
                <input type="checkbox" checked={shown.includes(id)} onChange={() => toggle(id)} />
                {header}
              </label>
            ))
        }
      </Popover>
    </div>
  );
}

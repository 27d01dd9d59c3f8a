import { useEffect, useRef, useState } from 'react';
import { batchStatuses } from '../../../../src/core/batch.ts';
import { waitingReasons } from '../../../../src/core/waiting.ts';
import { useQuery } from '@tanstack/react-query';
import { batchCountsQuery, sumCounts, waitCountsQuery } from '../../api/batches.ts';
import { modelsQuery } from '../../api/models.ts';
import { orgsQuery } from '../../api/orgs.ts';
import { stateWord } from '../../parts/batch-state.ts';
import { Segments, Size } from '../../parts/segments.tsx';
import { Button } from '../../parts/button.tsx';
import { Popover } from '../../parts/popover.tsx';
import { SuggestField } from '../../parts/toolbar.tsx';
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
  const chosen = chosenOf(search);
  return (
    <div className={css.filters} role="search" aria-label="Batches">
      <SearchField value={search.q ?? ''} onChange={(q) => set({ q: q || undefined })} />
      <Popover label="Filters" title="Filters">
        {() => <Panel search={search} set={set} isAdmin={isAdmin} />}
      </Popover>
      <ColumnMenu search={search} onChange={onChange} isAdmin={isAdmin} width={width} />
      <div className={css.states}>
        <States search={search} onChange={(status) => set({ status })} isAdmin={isAdmin} />
      </div>
      {chosen.map(([name, word]) => (
        <Button
          key={name}
          aria-label={`Remove the filter ${word}`}
          onClick={() => set({ [name]: undefined })}
        >
          {word} <span aria-hidden="true">×</span>
        </Button>
      ))}
      {chosen.length > 0 && (
        <Button kind="quiet" onClick={() => onChange({ columns: search.columns })}>
          Clear
        </Button>
      )}
    </div>
  );
}

/** Filters of the panel that are set, in words. */
function chosenOf({ waiting, at_risk: isAtRisk, model, org }: BatchesSearch) {
  const words = {
    at_risk: isAtRisk && 'At risk',
    waiting: waiting && `Waiting: ${reasonWord(waiting)}`,
    model: model && `Model: ${model}`,
    org: org && `Org: ${org}`,
  };
  return Object.entries(words).flatMap(([name, word]) => (word ? [[name, word] as const] : []));
}

function reasonWord(reason: string): string {
  return reason === 'any' ? 'Any reason' : stateWord(reason);
}

interface PanelProps extends Pick<FiltersProps, 'search' | 'isAdmin'> {
  set: (changes: BatchesSearch) => void;
}

/** Filters with the number of batches behind each, which are counted when the panel opens. */
function Panel({ search, set, isAdmin }: PanelProps) {
  const { waiting, at_risk: isAtRisk, ...others } = filtersOf(search);
  const { data: models } = useQuery(modelsQuery);
  const { data: orgs = [] } = useQuery({ ...orgsQuery, enabled: isAdmin });
  const { data: counts } = useQuery(waitCountsQuery(isAdmin, others));
  return (
    <div className={css.panel}>
      <SuggestField
        label="Model"
        value={search.model ?? ''}
        values={models?.data.map(({ id }) => id) ?? []}
        onChange={(model) => set({ model: model || undefined })}
      />
      {isAdmin && (
        <SuggestField
          label="Org"
          value={search.org ?? ''}
          values={orgs.map(({ name }) => name)}
          onChange={(org) => set({ org: org || undefined })}
        />
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={isAtRisk === true}
          onChange={({ target }) => set({ at_risk: target.checked || undefined })}
        />
        At risk <Size of={counts?.atRisk} />
      </label>
      <fieldset>
        <legend>Waiting</legend>
        {[undefined, 'any', ...waitingReasons].map((reason) => (
          <label key={reason ?? ''} className="check">
            <input
              type="radio"
              name="waiting"
              checked={waiting === reason}
              onChange={() => set({ waiting: reason })}
            />
            {reason ? reasonWord(reason) : 'All batches'} {reason && <Size of={counts?.waiting(reason)} />}
          </label>
        ))}
      </fieldset>
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
    isCounted && data ? sumCounts(data, states) : undefined;
  return (
    <Segments
      label="State"
      segments={[
        {
          label: 'All',
          isOn: status === undefined,
          onChoose: () => onChange(undefined),
          of: sizeOf(batchStatuses),
        },
        ...batchStatuses.map((each) => ({
          label: stateWord(each),
          isOn: status === each,
          onChoose: () => onChange(each),
          of: sizeOf([each]),
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

function ColumnMenu({ search, onChange, isAdmin, width }: FiltersProps) {
  const shown = columnsOf(search, width);
  function toggle(id: string): void {
    const next = columns.map((column) => column.id).filter((each) => shown.includes(each) !== (each === id));
    const isDefault = next.join() === defaultColumns[width].join();
    onChange({ ...search, columns: isDefault || next.length === 0 ? undefined : next.join(',') });
  }
  return (
    <Popover label="Columns" title="Columns shown">
      {() =>
        columns
          .filter(({ id }) => isAdmin || id !== 'org')
          .map(({ id, header }) => (
            <label key={id} className="check">
              <input type="checkbox" checked={shown.includes(id)} onChange={() => toggle(id)} />
              {header}
            </label>
          ))
      }
    </Popover>
  );
}

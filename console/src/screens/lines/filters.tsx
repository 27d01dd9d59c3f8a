import { type FormEvent, useEffect, useRef } from 'react';
import { Button } from '../../parts/button.tsx';
import { count } from '../../parts/format.ts';
import { Segments } from '../../parts/segments.tsx';
import css from './lines.module.css';
import type { Batch } from '../../api/batches.ts';
import type { LinesSearch } from './search.ts';

interface FiltersProps {
  batch: Batch;
  search: LinesSearch;
  /** True for an operator, who has no search in texts and no table of answers. */
  isOperator: boolean;
  onChange: (search: LinesSearch) => void;
}

const sampleSize = 20;

/** Search, states, error codes, sample and view of the lines. */
export function Filters({ batch, search, isOperator, onChange }: FiltersProps) {
  const { request_counts: counts, progress, error_summary: errors } = batch;
  const input = useRef<HTMLInputElement>(null);
  const q = search.q ?? '';
  useEffect(() => {
    if (input.current && input.current !== document.activeElement) input.current.value = q;
  }, [q]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { sample: _, seed: __, view: ___, q: ____, ...rest } = search;
    const text = input.current?.value.trim() ?? '';
    onChange({ ...rest, ...(text !== '' && { q: text }) });
  };
  const states = [
    [undefined, 'All', counts.total],
    ['completed', 'Completed', counts.completed],
    ['failed', 'Failed', counts.failed],
    ['in_flight', 'In flight', progress.running],
    ['queued', 'Queued', progress.pending],
  ] as const;
  return (
    <div className={css.filters}>
      {!isOperator && (
        <form role="search" onSubmit={submit} className={css.search}>
          <input
            ref={input}
            type="search"
            aria-label="Search in custom_id, request and answer"
            placeholder="Search in custom_id, request and answer"
            defaultValue={q}
            maxLength={200}
          />
          <Button type="submit">Search</Button>
        </form>
      )}
      <Segments
        label="State"
        segments={states.map(([state, label, size]) => ({
          label,
          of: { size },
          isOn: search.state === state && search.code === undefined && search.view === undefined,
          onChoose() {
            const { code: _, state: __, view: ___, line: ____, ...rest } = search;
            onChange({ ...rest, ...(state && { state }) });
          },
        }))}
      />
      {errors.length > 0 && (
        <select
          aria-label="Error code"
          value={search.code ?? ''}
          onChange={(event) => {
            const { code: _, state: __, view: ___, line: ____, ...rest } = search;
            onChange({ ...rest, ...(event.target.value !== '' && { code: event.target.value }) });
          }}
        >
          <option value="">Any error code</option>
          {errors.map(({ code, count: size }) => (
            <option key={code} value={code}>
              {code} ({count(size)})
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

/** Random sample, and the view as a table. */
export function Actions({ search, isOperator, onChange }: Omit<FiltersProps, 'batch'>) {
  return (
    <>
      <Button
        onClick={() => {
          const { q: _, view: __, line: ___, ...rest } = search;
          onChange({ ...rest, sample: sampleSize, seed: Math.floor(Math.random() * 0xff_ff_ff_ff) });
        }}
      >
        {search.sample === undefined ? `${sampleSize} random lines` : 'Other random lines'}
      </Button>
      {!isOperator && (
        <Button
          aria-pressed={search.view === 'table'}
          onClick={() => {
            const { view, ...rest } = search;
            onChange({ ...rest, ...(view === undefined && { view: 'table' }) });
          }}
        >
          {search.view === 'table' ? 'Show lines' : 'Answers as table'}
        </Button>
      )}
    </>
  );
}

import { type Choice, ChoiceField, SearchField, Toolbar } from '../../parts/toolbar.tsx';
import { keyOf, orgOf } from './columns.tsx';
import type { RecentRequest } from './queries.ts';
import type { RequestsSearch } from './search.ts';

interface FiltersProps {
  requests: readonly RecentRequest[];
  search: RequestsSearch;
  onChange: (change: RequestsSearch) => void;
}

/** Filters with the values that the requests have. An empty value lifts a filter. */
export function Filters({ requests, search, onChange }: FiltersProps) {
  const codes = choicesOf(requests, ({ code }) => code ?? '');
  const results = [
    { value: '', label: 'All results' },
    { value: 'answered', label: 'Answered' },
    { value: 'failed', label: 'Failed' },
    ...codes,
  ];
  return (
    <Toolbar label="Filter requests">
      <SearchField
        label="Search"
        value={search.q ?? ''}
        placeholder="ID, model, server, key, error"
        onChange={(q) => onChange({ q })}
      />
      <ChoiceField
        label="Result"
        value={search.result ?? ''}
        choices={results}
        onChange={(result) => onChange({ result })}
      />
      <ChoiceField
        label="Model"
        value={search.model ?? ''}
        choices={withAll(
          'All models',
          choicesOf(requests, ({ model }) => model ?? ''),
        )}
        onChange={(model) => onChange({ model })}
      />
      <ChoiceField
        label="Org"
        value={search.org ?? ''}
        choices={withAll(
          'All orgs',
          choicesOf(requests, ({ org_id: id }) => id, orgOf),
        )}
        onChange={(org) => onChange({ org })}
      />
      <ChoiceField
        label="Key"
        value={search.key ?? ''}
        choices={withAll(
          'All keys',
          choicesOf(requests, ({ key_id: id }) => id, keyOf),
        )}
        onChange={(key) => onChange({ key })}
      />
    </Toolbar>
  );
}

function withAll(label: string, choices: Choice[]): Choice[] {
  return [{ value: '', label }, ...choices];
}

function choicesOf(
  requests: readonly RecentRequest[],
  valueOf: (request: RecentRequest) => string,
  labelOf = valueOf,
): Choice[] {
  const labels = new Map(requests.map((request) => [valueOf(request), labelOf(request)]));
  labels.delete('');
  return [...labels]
    .map(([value, label]) => ({ value, label }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
}

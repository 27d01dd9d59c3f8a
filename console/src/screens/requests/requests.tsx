import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { SortingState } from '@tanstack/react-table';
import { useDeferredValue, useMemo, useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Screen } from '../../parts/screen.tsx';
import { columns } from './columns.tsx';
import { Details } from './details.tsx';
import { Figures } from './figures.tsx';
import { filterRequests } from './filter.ts';
import { Filters } from './filters.tsx';
import { type RecentRequest, requestsQuery } from './queries.ts';
import css from './requests.module.css';
import { requestsSearch, type RequestsSearch } from './search.ts';

/** The last single requests of all orgs, without their content. */
export function Requests() {
  const query = useQuery(requestsQuery(useQueryClient()));
  return (
    <Screen title="Requests" isLive>
      <QueryView query={query} what="The requests" rows={12}>
        {(requests) =>
          requests.length === 0 ? (
            <EmptyState title="No requests yet.">
              <p>
                The last 1,000 single requests of this server process appear here, without prompts and
                answers. Lines of batches are with their batch.
              </p>
              <Code label="Send a request" text='offpeak chat "Hello"' />
            </EmptyState>
          ) : (
            <RequestList requests={requests} />
          )
        }
      </QueryView>
    </Screen>
  );
}

function RequestList({ requests }: { requests: readonly RecentRequest[] }) {
  const search = useSearch({ from: '/requests' });
  const navigate = useNavigate({ from: '/requests' });
  const [sorting, setSorting] = useState<SortingState>([]);
  // A long list follows the typing at its own pace.
  const filter = useDeferredValue(search);
  const matching = useMemo(() => filterRequests(requests, filter), [requests, filter]);
  const open = search.request && requests.find(({ id }) => id === search.request);

  const change = (changes: RequestsSearch) =>
    void navigate({ search: (before) => requestsSearch({ ...before, ...changes }), replace: true });

  return (
    <div className={css.list}>
      <Filters requests={requests} search={search} onChange={change} />
      <Figures requests={matching} />
      <DataTable
        caption="Recent requests"
        columns={columns}
        rows={matching}
        rowId={idOf}
        sorting={sorting}
        onSort={setSorting}
        onOpen={({ id }) => change({ request: id })}
        height="max(320px, calc(100dvh - 280px))"
        empty={<EmptyState title="No request matches the filters." />}
      />
      {open && <Details request={open} onClose={() => change({ request: '' })} />}
    </div>
  );
}

function idOf({ id }: RecentRequest): string {
  return id;
}

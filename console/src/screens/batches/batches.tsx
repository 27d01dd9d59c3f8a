import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import { batchListQuery, type Batch, seesAllOrgs } from '../../api/batches.ts';
import { useBatchEvents } from '../../api/batch-events.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { BatchActions, BatchActionsMenu } from '../../parts/batch-actions.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { counted } from '../../parts/format.ts';
import { Loading } from '../../parts/loading.tsx';
import { NewBatchLink } from '../../parts/new-batch-link.tsx';
import { Screen } from '../../parts/screen.tsx';
import { useMedia } from '../../parts/use-media.ts';
import css from './batches.module.css';
import { columns } from './columns.tsx';
import { Filters } from './filters.tsx';
import { withChanges } from './live-list.ts';
import { type BatchesSearch, columnsOf, filtersOf, parseBatchesSearch } from './search.ts';

type Selection = Record<string, true>;

/** One row for each batch, newest first and live: of all orgs for an admin, otherwise of the own org. */
export function Batches() {
  const session = useSession();
  if (seesAllOrgs(session) || hasScope(session, 'batches:read')) return <List />;
  return (
    <Screen title="Batches">
      <EmptyState title="This key shows no batches.">
        <p>Sign in with a key that has the scope batches or batches:read.</p>
      </EmptyState>
    </Screen>
  );
}

function List() {
  const session = useSession();
  const isAdmin = seesAllOrgs(session);
  const canAct = hasScope(session, isAdmin ? 'admin' : 'batches');
  const given = useSearch({ strict: false });
  const search = useMemo(() => parseBatchesSearch(given), [given]);
  const filters = useMemo(() => filtersOf(search), [search]);
  const navigate = useNavigate();
  const [selection, setSelection] = useState<Selection>({});

  const list = batchListQuery(isAdmin, filters);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(list);
  const queries = useQueryClient();
  useBatchEvents(isAdmin, filters, {
    onChange: (changed, deleted) =>
      queries.setQueryData(list.queryKey, (read) => read && withChanges(read, changed, filters, deleted)),
    onGap: () => void refetch(),
  });

  // Rendered in slices between frames: a hundred batches may change at once.
  const pages = useDeferredValue(data?.pages);
  const rows = useMemo(() => pages?.flatMap((page) => page.data) ?? [], [pages]);
  const isNarrow = useMedia('(max-width: 600px)');
  const isWide = useMedia('(min-width: 1800px)');
  const width = isNarrow ? 'narrow' : isWide ? 'wide' : 'normal';
  const visible = useMemo(
    () => columnsOf(search, width).filter((id) => isAdmin || id !== 'org'),
    [search, width, isAdmin],
  );
  const change = useCallback(
    (next: BatchesSearch) => void navigate({ to: '/batches', search: next as never, replace: true }),
    [navigate],
  );
  const open = useCallback(
    ({ id }: Batch) => void navigate({ to: '/batches/$batchId', params: { batchId: id } }),
    [navigate],
  );
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const selected = Object.keys(selection);
  const hasFilter = Object.keys(filters).length > 0;

  return (
    <Screen
      title="Batches"
      isLive
      actions={
        <>
          {canAct && rows.length > 0 && (
            <BatchActionsMenu
              label={hasFilter ? 'All batches that match' : 'All batches'}
              isAdmin={isAdmin}
              target={{ filter: filters }}
            />
          )}
          {hasScope(session, 'batches') && <NewBatchLink />}
        </>
      }
    >
      <div>
        <Filters search={search} onChange={change} isAdmin={isAdmin} width={width} />
        {selected.length > 0 && (
          <div className={css.selection}>
            <span role="status">{counted(selected.length, 'batch', 'batches')} selected</span>
            <BatchActions label="Selected batches" isAdmin={isAdmin} target={{ ids: selected }} />
            <Button kind="quiet" onClick={() => setSelection({})}>
              Clear selection
            </Button>
          </div>
        )}
        {pages ? (
          <DataTable
            caption="Batches, newest first"
            columns={columns}
            visible={visible}
            rows={rows}
            rowId={idOf}
            rowName={nameOf}
            onOpen={open}
            height="max(320px, calc(100dvh - 232px))"
            onEnd={loadMore}
            {...(canAct && { selection, onSelect: setSelection })}
            empty={<NoBatches isFiltered={hasFilter} />}
          />
        ) : error ? (
          <ErrorState error={error} what="The batches" onRetry={() => void refetch()} />
        ) : (
          <Loading what="the batches" rows={12} />
        )}
      </div>
    </Screen>
  );
}

const idOf = ({ id }: Batch) => id;
const nameOf = ({ name, id }: Batch) => name ?? id;

function NoBatches({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No batch matches the filters." />;
  return (
    <EmptyState title="There are no batches yet.">
      <p>Drop a file of requests on New batch, or send one from a terminal:</p>
      <Code label="Run a batch" text="offpeak batch run requests.jsonl -o results.jsonl" />
    </EmptyState>
  );
}

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { isFinal } from '../../../../src/core/batch.ts';
import { type Batch, batchQuery, ownerOf, readsTexts, seesAllOrgs } from '../../api/batches.ts';
import { useSession } from '../../api/session.ts';
import { BatchScreen } from '../../parts/batch-screen.tsx';
import { Button } from '../../parts/button.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { count, counted } from '../../parts/format.ts';
import { Loading } from '../../parts/loading.tsx';
import { AnswersTable } from './answers-table.tsx';
import { Actions, Filters } from './filters.tsx';
import { LineList } from './line-list.tsx';
import { LineView } from './line-view.tsx';
import css from './lines.module.css';
import { type LinesSearch, withoutTexts } from './search.ts';
import { type LineRows, useAllLines, useMatchingLines } from './use-lines.ts';

const route = getRouteApi('/batches/$batchId/lines');
/** A running batch is read again after this time, in milliseconds. */
const refetchMs = 3_000;

/** Lines of a batch: search and filters, one line beside the list, answers as a table. */
export function Lines() {
  const { batchId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const session = useSession();
  const query = batchQuery(seesAllOrgs(session), batchId);
  const {
    data: batch,
    error,
    refetch,
  } = useQuery({
    ...query,
    refetchInterval: ({ state }) => (state.data && isFinal(state.data.status) ? false : refetchMs),
  });
  const isOperator = batch !== undefined && !readsTexts(session, batch);
  const change = (next: LinesSearch) => void navigate({ search: next, replace: true });
  return (
    <BatchScreen
      batchId={batchId}
      batch={batch}
      actions={batch && <Actions search={search} isOperator={isOperator} onChange={change} />}
    >
      {batch ? (
        <BatchLines batch={batch} search={search} isOperator={isOperator} change={change} />
      ) : error ? (
        <ErrorState error={error} what="The batch" onRetry={() => void refetch()} />
      ) : (
        <Loading what="the batch" rows={12} />
      )}
    </BatchScreen>
  );
}

interface BatchLinesProps {
  batch: Batch;
  search: LinesSearch;
  isOperator: boolean;
  change: (search: LinesSearch) => void;
}

function BatchLines({ batch, search: given, isOperator, change }: BatchLinesProps) {
  const { total } = batch.request_counts;
  const of = { batchId: batch.id, isOperator };
  const search = isOperator ? withoutTexts(given) : given;
  const isFiltered = [search.state, search.code, search.q, search.sample].some((each) => each !== undefined);
  const all = useAllLines(of, total, isFinal(batch.status), !isFiltered);
  const matching = useMatchingLines(of, search, isFiltered);
  const rows = isFiltered ? matching : all;
  const { line, ...without } = search;
  const open = (number: number) => change({ ...search, line: number });
  return (
    <div className={css.stack}>
      {isOperator && (
        <p className={css.note}>
          This batch belongs to {ownerOf(batch)}. Operators see the state, tokens, cost and server of each
          line; prompts, answers and error messages are for keys of the org.
        </p>
      )}
      <Filters batch={batch} search={search} isOperator={isOperator} onChange={change} />
      {isFiltered && search.view === undefined && (
        <p className={css.note}>
          <Found rows={rows} total={total} search={search} onClear={() => change({})} />
        </p>
      )}
      {search.view === 'table' ? (
        <AnswersTable batchId={batch.id} />
      ) : (
        <div className={css.split} data-open={line !== undefined}>
          <List rows={rows} open={line} isOperator={isOperator} onOpen={open} />
          {line !== undefined && (
            <LineView of={of} number={line} total={total} onOpen={open} onClose={() => change(without)} />
          )}
        </div>
      )}
    </div>
  );
}

function List({
  rows,
  open,
  isOperator,
  onOpen,
}: {
  rows: LineRows;
  open: number | undefined;
  isOperator: boolean;
  onOpen: (line: number) => void;
}) {
  if (rows.error && rows.count === 0)
    return <ErrorState error={rows.error} what="The lines" onRetry={rows.retry} />;
  if (rows.isLoading) return <Loading what="the lines" rows={12} />;
  if (rows.count === 0 && rows.searchedTo === null)
    return <EmptyState title="No line matches.">Search for other words, or clear the filters.</EmptyState>;
  return <LineList rows={rows} open={open} isOperator={isOperator} onOpen={onOpen} />;
}

interface FoundProps {
  rows: LineRows;
  total: number;
  search: LinesSearch;
  onClear: () => void;
}

/** Number of lines found so far, and how far a search has looked. */
function Found({ rows, total, search, onClear }: FoundProps) {
  const more =
    rows.searchedTo === null ? '' : ` so far, in the first ${count(rows.searchedTo)} of ${count(total)}`;
  return (
    <>
      <span role="status">
        {rows.isLoading
          ? 'Looking through the lines.'
          : search.sample === undefined
            ? `${counted(rows.count, 'line')} found${more}`
            : `${counted(rows.count, 'random line')}, seed ${search.seed ?? '–'}`}
      </span>
      {rows.searchedTo !== null && (
        <Button kind="quiet" onClick={rows.retry}>
          Look further
        </Button>
      )}
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
    </>
  );
}

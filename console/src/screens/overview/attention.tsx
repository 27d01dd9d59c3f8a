import { useQuery } from '@tanstack/react-query';
import { batchState } from '../../parts/batch-state.ts';
import { Code } from '../../parts/code.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { count } from '../../parts/format.ts';
import { Loading } from '../../parts/loading.tsx';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import { openBatchesQuery, type OpenBatch } from './queries.ts';

const columns: readonly Column<OpenBatch>[] = [
  { id: 'batch', header: 'Batch', cell: ({ id }) => <code>{id}</code> },
  {
    id: 'state',
    header: 'State',
    cell(batch) {
      const { kind, word } = batchState(batch);
      return <State kind={kind}>{word}</State>;
    },
  },
  {
    id: 'left',
    header: 'Requests left',
    width: 120,
    align: 'end',
    cell: ({ request_counts: { total, completed, failed } }) => count(total - completed - failed),
  },
  { id: 'due', header: 'Due', width: 120, align: 'end', cell: (batch) => <Time at={batch.expires_at} /> },
];

/** Open batches that wait or will miss their window. */
export function Attention({ isAdmin }: { isAdmin: boolean }) {
  const { data, error, refetch } = useQuery(openBatchesQuery({ isAdmin }));
  const troubled = data?.filter(({ waiting, at_risk: isAtRisk }) => Boolean(waiting ?? isAtRisk));
  return (
    <Section title="Needs attention">
      {troubled && data ? (
        troubled.length > 0 ? (
          <DataTable
            caption="Batches that wait or are at risk"
            columns={columns}
            rows={troubled}
            rowId={({ id }) => id}
          />
        ) : data.length > 0 ? (
          <EmptyState title="Nothing. All open batches run, and will end in time." />
        ) : (
          <EmptyState title="No batch is open.">
            <p>Send one:</p>
            <Code label="Run a batch" text="offpeak batch run requests.jsonl -o results.jsonl" />
          </EmptyState>
        )
      ) : error ? (
        <ErrorState error={error} what="The batches" onRetry={() => void refetch()} />
      ) : (
        <Loading what="the batches" />
      )}
    </Section>
  );
}

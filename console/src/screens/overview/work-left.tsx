import { useQuery } from '@tanstack/react-query';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { compact, count, duration } from '../../parts/format.ts';
import { Loading } from '../../parts/loading.tsx';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { type ModelQueue, queueQuery } from './queries.ts';

const columns: readonly Column<ModelQueue>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => model },
  { id: 'requests', header: 'Requests left', width: 120, align: 'end', cell: (row) => count(row.requests) },
  { id: 'tokens', header: 'Tokens left', width: 120, align: 'end', cell: (row) => compact(row.tokens) },
  { id: 'seconds', header: 'Time left', width: 120, align: 'end', cell: (row) => span(row.seconds) },
  { id: 'slack', header: 'Slack to nearest deadline', width: 200, align: 'end', cell: Slack },
  { id: 'slots', header: 'Slots in use', width: 140, align: 'end', cell: slots },
];

/** Work that batches have left by model, with the time to spare. */
export function WorkLeft() {
  const { data, error, refetch } = useQuery(queueQuery);
  return (
    <Section title="Work left">
      {data ? (
        <DataTable
          caption="Work left by model"
          columns={columns}
          rows={data.data}
          rowId={({ model }) => model}
          empty={<EmptyState title="No models are configured." />}
        />
      ) : error ? (
        <ErrorState error={error} what="The work left" onRetry={() => void refetch()} />
      ) : (
        <Loading what="the work left" />
      )}
    </Section>
  );
}

function span(seconds: number | null): string {
  return seconds === null ? '–' : duration(seconds * 1_000);
}

function Slack({ slack_seconds: seconds }: ModelQueue) {
  if (seconds === null) return '–';
  return seconds < 0 ? <State kind="warning">{span(seconds)}</State> : span(seconds);
}

function slots({ in_use: inUse, slots: configured, found }: ModelQueue): string {
  return `${count(inUse)} of ${count(found ?? configured)}`;
}

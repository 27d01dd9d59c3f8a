import { useQuery } from '@tanstack/react-query';
import { BatchProgress } from '../../parts/batch-progress.tsx';
import { batchState } from '../../parts/batch-state.ts';
import { BatchTitle } from '../../parts/batch-title.tsx';
import type { Column } from '../../parts/column.ts';
import { count, toMs } from '../../parts/format.ts';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { openBatchesQuery, type OpenBatch } from './queries.ts';

/** Batches shown: those that are due first. */
const shown = 10;

const columns: readonly Column<OpenBatch>[] = [
  {
    id: 'state',
    header: 'State',
    width: 204,
    cell(batch) {
      const { kind, word } = batchState(batch);
      return <State kind={kind}>{word}</State>;
    },
  },
  { id: 'batch', header: 'Batch', width: 172, cell: (batch) => <BatchTitle batch={batch} /> },
  { id: 'progress', header: 'Progress', width: 190, cell: (batch) => <BatchProgress batch={batch} /> },
  {
    id: 'rate',
    header: 'Per minute',
    width: 84,
    align: 'end',
    cell: ({ progress }) => (progress.rate_per_minute === null ? '–' : count(progress.rate_per_minute)),
  },
  { id: 'org', header: 'Org', width: 100, cell: ({ org }) => org ?? '–' },
  {
    id: 'eta',
    header: 'Expected end',
    width: 104,
    align: 'end',
    cell: ({ progress }) => <Time at={progress.eta} />,
  },
  { id: 'due', header: 'Due', width: 80, align: 'end', cell: (batch) => <Time at={batch.expires_at} /> },
];

/** The open batches that are due first. */
export function OpenBatches({ isAdmin }: { isAdmin: boolean }) {
  const { data = [] } = useQuery(openBatchesQuery(isAdmin));
  if (data.length === 0) return null;
  const next = data.toSorted((a, b) => toMs(a.expires_at) - toMs(b.expires_at)).slice(0, shown);
  return (
    <Section title={data.length > shown ? `Open batches: the ${shown} that are due first` : 'Open batches'}>
      <Table
        caption="Open batches"
        columns={isAdmin ? columns : columns.filter(({ id }) => id !== 'org')}
        rows={next}
        rowId={({ id }) => id}
      />
    </Section>
  );
}

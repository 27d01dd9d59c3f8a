import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { hasScope, useSession } from '../../api/session.ts';
import { BatchTitle } from '../../parts/batch-title.tsx';
import { Code } from '../../parts/code.tsx';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { localTimes } from '../../parts/format.ts';
import { NewBatchLink } from '../../parts/new-batch-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useMedia } from '../../parts/use-media.ts';
import { type Concern, collectConcerns } from './attention.ts';
import { replicasQuery, webhooksQuery } from '../../api/operations.ts';
import { openBatchesQuery } from './queries.ts';

const columns: readonly Column<Concern>[] = [
  { id: 'state', header: 'State', width: 140, cell: ({ kind, word }) => <State kind={kind}>{word}</State> },
  {
    id: 'subject',
    header: 'Batch, server or webhook',
    width: 220,
    cell: Subject,
  },
  { id: 'why', header: 'Why, and what to do', cell: Why },
  { id: 'org', header: 'Org', width: 100, cell: ({ org }) => org ?? '–' },
  { id: 'due', header: 'Due', width: 100, align: 'end', cell: ({ due }) => <Time at={due} /> },
];

/** Columns that a narrow screen shows without scrolling sideways. */
const narrowColumns: readonly Column<Concern>[] = [
  { ...columns[0]!, width: 116 },
  {
    id: 'what',
    header: 'What, and what to do',
    cell: (concern) => (
      <>
        <Subject {...concern} />
        <Why {...concern} />
      </>
    ),
  },
];

function Subject({ subject, id, batch }: Concern) {
  return batch ? <BatchTitle batch={batch} /> : <span title={id}>{subject}</span>;
}

function Why({ why, remedy: { label, ...link } = { label: '' } }: Concern) {
  return (
    <p>
      {localTimes(why)} {label && <Link {...link}>{label}</Link>}
    </p>
  );
}

/** Batches at risk, waiting or failing, servers that are down, and disabled webhooks. */
export function Concerns({ isAdmin }: { isAdmin: boolean }) {
  const session = useSession();
  const isNarrow = useMedia('(max-width: 600px)');
  const batches = useQuery(openBatchesQuery(isAdmin));
  const replicas = useQuery({ ...replicasQuery, enabled: isAdmin });
  const webhooks = useQuery({ ...webhooksQuery, enabled: hasScope(session, 'batches:read') });
  return (
    <Section title="Needs attention">
      <QueryView query={batches} what="The batches" rows={2}>
        {(open) => {
          const concerns = collectConcerns(open, replicas.data ?? [], webhooks.data ?? []);
          if (concerns.length > 0)
            return (
              <Table
                caption="What needs attention"
                columns={
                  isNarrow ? narrowColumns : isAdmin ? columns : columns.filter(({ id }) => id !== 'org')
                }
                rows={concerns}
                rowId={({ id }) => id}
              />
            );
          if (open.length > 0) return <EmptyState title="Nothing: no batch is at risk, stuck or failing." />;
          return (
            <EmptyState title="No batch is open.">
              {hasScope(session, 'batches') && <NewBatchLink />}
              <Code label="Run a batch" text="offpeak batch run requests.jsonl -o results.jsonl" />
            </EmptyState>
          );
        }}
      </QueryView>
    </Section>
  );
}

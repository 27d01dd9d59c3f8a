import { useQuery } from '@tanstack/react-query';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { ReplicaState } from '../../parts/replica-state.tsx';
import { Section } from '../../parts/screen.tsx';
import { Table } from '../../parts/table.tsx';
import { Usage } from '../../parts/usage.tsx';
import { type Replica, replicasQuery } from '../../api/operations.ts';

const columns: readonly Column<Replica>[] = [
  { id: 'server', header: 'Server', cell: ({ server }) => <code title={server}>{server}</code> },
  { id: 'model', header: 'Model', width: 200, cell: ({ model }) => <span title={model}>{model}</span> },
  { id: 'state', header: 'State', width: 150, cell: ({ health }) => <ReplicaState health={health} /> },
  { id: 'slots', header: 'Slots in use', width: 150, cell: slotsOf },
  {
    id: 'found',
    header: 'Slots known from',
    width: 130,
    cell: ({ found }) => (found === null ? 'the server' : 'its load'),
  },
  {
    id: 'error',
    header: 'Last error',
    cell: ({ waiting }) => <span title={waiting?.message}>{waiting?.message ?? '–'}</span>,
  },
];

/** The servers of all models. */
export function Engines() {
  const replicas = useQuery(replicasQuery);
  return (
    <Section title="Engines">
      <QueryView query={replicas} what="The engines">
        {(servers) =>
          servers.length === 0 ? (
            <EmptyState title="No server answers for a model.">
              <p>Configure models, or start the servers that they name.</p>
            </EmptyState>
          ) : (
            <Table caption="Engines" columns={columns} rows={servers} rowId={({ id }) => id} />
          )
        }
      </QueryView>
    </Section>
  );
}

function slotsOf({ in_use: used, found, slots }: Replica) {
  return slots === null ? '–' : <Usage used={used} of={found ?? slots} />;
}

import { useQuery } from '@tanstack/react-query';
import { type Replica, replicasQuery } from '../api/operations.ts';
import type { Column } from './column.ts';
import { EmptyState } from './empty-state.tsx';
import { localTimes } from './format.ts';
import { QueryView } from './query-view.tsx';
import { Table } from './table.tsx';
import { Usage } from './usage.tsx';

/** Columns that each table of servers has, without their widths. */
export const replicaColumns = {
  server: { id: 'server', header: 'Server', cell: ({ server }) => <code title={server}>{server}</code> },
  model: { id: 'model', header: 'Model', cell: ({ model }) => <span title={model}>{model}</span> },
  slots: {
    id: 'slots',
    header: 'Slots in use',
    cell: ({ in_use: used, found, slots, cap }) =>
      slots === null ? '–' : <Usage used={used} of={cap === null ? (found ?? slots) : slots} />,
  },
  error: {
    id: 'error',
    header: 'Last error',
    cell: ({ waiting }) => (
      <span title={waiting?.message}>{waiting ? localTimes(waiting.message) : '–'}</span>
    ),
  },
} as const satisfies Record<string, Column<Replica>>;

interface ReplicaTableProps {
  caption: string;
  columns: readonly Column<Replica>[];
}

/** The servers of all models. */
export function ReplicaTable({ caption, columns }: ReplicaTableProps) {
  const replicas = useQuery(replicasQuery);
  return (
    <QueryView query={replicas} what={`The ${caption.toLowerCase()}`}>
      {(servers) =>
        servers.length === 0 ? (
          <EmptyState title="No server answers for a model.">
            <p>Configure models, or start the servers that they name.</p>
          </EmptyState>
        ) : (
          <Table caption={caption} columns={columns} rows={servers} rowId={({ id }) => id} />
        )
      }
    </QueryView>
  );
}

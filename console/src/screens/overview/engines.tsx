import type { Replica } from '../../api/operations.ts';
import type { Column } from '../../parts/column.ts';
import { ReplicaState } from '../../parts/replica-state.tsx';
import { replicaColumns, ReplicaTable } from '../../parts/replica-table.tsx';
import { Section } from '../../parts/screen.tsx';

const columns: readonly Column<Replica>[] = [
  { ...replicaColumns.server, width: 190 },
  { id: 'state', header: 'State', width: 110, cell: ({ health }) => <ReplicaState health={health} /> },
  { ...replicaColumns.model, width: 150 },
  { ...replicaColumns.slots, width: 150 },
  {
    id: 'found',
    header: 'Slots known from',
    width: 130,
    cell: ({ found }) => (found === null ? 'the server' : 'its load'),
  },
  replicaColumns.error,
];

/** The servers of all models. */
export function Engines() {
  return (
    <Section title="Engines">
      <ReplicaTable caption="Engines" columns={columns} />
    </Section>
  );
}

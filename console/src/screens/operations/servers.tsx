import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { type Replica, showReplica } from '../../api/operations.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { count, exactTime, toMs } from '../../parts/format.ts';
import { ReplicaState } from '../../parts/replica-state.tsx';
import { capColumn, editableCapColumn } from './cap.tsx';
import { ModelHours } from './model-hours.tsx';
import { replicaColumns, ReplicaTable } from '../../parts/replica-table.tsx';

const columns: readonly Column<Replica>[] = [
  { ...replicaColumns.server, width: 184 },
  { ...replicaColumns.model, width: 110 },
  { id: 'state', header: 'State', width: 96, cell: ServerState },
  { ...replicaColumns.slots, width: 124 },
  capColumn,
  { id: 'flight', header: 'In flight', width: 72, align: 'end', cell: (row) => count(row.in_flight) },
  { id: 'slowdown', header: 'Slowdown', width: 90, align: 'end', cell: Slowdown },
  { ...replicaColumns.error, width: 136 },
];
const capAt = columns.indexOf(capColumn);

/** Servers of all models, which an administrator can take out of use. */
export function Servers() {
  const canChange = hasScope(useSession(), 'admin');
  const change = useDrain();
  const shown = canChange
    ? [...columns.slice(0, capAt), editableCapColumn, ...columns.slice(capAt + 1), actionColumn(change)]
    : columns;
  return (
    <section>
      <ActionError error={change.error} />
      <ReplicaTable caption="Servers" columns={shown} />
      <ModelHours />
    </section>
  );
}

function ServerState({ health, drained_at: at, drained_by: by }: Replica) {
  const title = at === null ? undefined : `Drained ${exactTime(toMs(at))} by ${by}`;
  return (
    <span title={title}>
      <ReplicaState health={health} />
    </span>
  );
}

function Slowdown({ slowdown }: Replica) {
  const title = 'Factor on the time of interactive requests that the batch lines in flight cause';
  return <span title={title}>{slowdown === null ? '–' : `${slowdown.toFixed(2)} ×`}</span>;
}

type Drain = ReturnType<typeof useDrain>;

/** Drains a server or ends its drain. The row has the answer at once; requests in flight finish. */
function useDrain() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn({ id, drained_at: drainedAt }: Replica) {
      const params = { path: { replica_id: id } };
      return drainedAt === null
        ? bodyOf(api.POST('/v1/admin/replicas/{replica_id}/drain', { params }))
        : bodyOf(api.POST('/v1/admin/replicas/{replica_id}/undrain', { params }));
    },
    onSuccess: (changed) => showReplica(queries, changed),
  });
}

function actionColumn({ mutate, isPending, variables }: Drain): Column<Replica> {
  return {
    id: 'action',
    header: 'Action',
    width: 94,
    cell: (replica) => (
      <Button
        isBusy={isPending && variables.id === replica.id}
        aria-label={`${replica.drained_at === null ? 'Drain' : 'Undrain'} ${replica.server}`}
        onClick={() => mutate(replica)}
      >
        {replica.drained_at === null ? 'Drain' : 'Undrain'}
      </Button>
    ),
  };
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { type Replica, replicasQuery } from '../../api/operations.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { count, exactTime, toMs } from '../../parts/format.ts';
import { ReplicaState } from '../../parts/replica-state.tsx';
import { ModelHours } from './model-hours.tsx';
import { replicaColumns, ReplicaTable } from '../../parts/replica-table.tsx';

const columns: readonly Column<Replica>[] = [
  replicaColumns.server,
  { ...replicaColumns.model, width: 180 },
  { id: 'state', header: 'State', width: 120, cell: ServerState },
  { ...replicaColumns.slots, width: 140 },
  {
    id: 'configured',
    header: 'Cap',
    width: 80,
    align: 'end',
    cell: ({ configured }) =>
      configured === null ? (
        <span title="The server reports its slots, or they are found under load">None</span>
      ) : (
        <span title="Slots that the configuration fixes">{count(configured)}</span>
      ),
  },
  { id: 'flight', header: 'In flight', width: 90, align: 'end', cell: (row) => count(row.in_flight) },
  replicaColumns.error,
];

/** Servers of all models, which an administrator can take out of use. */
export function Servers() {
  const canChange = hasScope(useSession(), 'admin');
  const change = useDrain();
  const shown = canChange ? [...columns, actionColumn(change)] : columns;
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
    onSuccess(changed) {
      queries.setQueryData(replicasQuery.queryKey, (rows) =>
        rows?.map((row) => (row.id === changed.id ? changed : row)),
      );
      void queries.invalidateQueries({ queryKey: replicasQuery.queryKey });
    },
  });
}

function actionColumn({ mutate, isPending, variables }: Drain): Column<Replica> {
  return {
    id: 'action',
    header: 'Action',
    width: 110,
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

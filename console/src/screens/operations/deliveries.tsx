import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, bodyOf, type Item } from '../../api/client.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../parts/screen.tsx';
import { State, type StateKind } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';

type Delivery = Item<'/v1/webhooks/{webhook_id}/deliveries'>;

const kinds: Readonly<Record<Delivery['status'], StateKind>> = {
  delivered: 'done',
  pending: 'running',
  failed: 'failed',
};

const columns: readonly Column<Delivery>[] = [
  {
    id: 'state',
    header: 'State',
    width: 110,
    cell: ({ status }) => <State kind={kinds[status]}>{capital(status)}</State>,
  },
  { id: 'event', header: 'Event', width: 150, cell: ({ event }) => event.type },
  { id: 'about', header: 'About', cell: ({ event }) => <code title={event.data.id}>{event.data.id}</code> },
  { id: 'attempts', header: 'Attempts', width: 80, align: 'end', cell: ({ attempts }) => attempts },
  { id: 'status', header: 'Status', width: 70, align: 'end', cell: (row) => row.last_status_code ?? '–' },
  {
    id: 'error',
    header: 'Last error',
    cell: (row) => <span title={row.last_error ?? undefined}>{row.last_error ?? '–'}</span>,
  },
  { id: 'last', header: 'Last attempt', width: 110, cell: (row) => <Time at={row.last_attempt_at} /> },
];

function deliveriesQuery(webhookId: string) {
  return queryOptions({
    queryKey: ['deliveries', webhookId],
    queryFn: async ({ signal }) => {
      const params = { path: { webhook_id: webhookId }, query: { limit: 100 } };
      return (await bodyOf(api.GET('/v1/webhooks/{webhook_id}/deliveries', { params, signal }))).data;
    },
    refetchInterval: 10_000,
  });
}

/** The last 100 deliveries of a webhook, which can be sent again. */
export function Deliveries({ webhookId, canReplay }: { webhookId: string; canReplay: boolean }) {
  const query = deliveriesQuery(webhookId);
  const deliveries = useQuery(query);
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: query.queryKey });
  const replay = useReplay(refresh);
  const test = useMutation({
    mutationFn: () =>
      bodyOf(api.POST('/v1/webhooks/{webhook_id}/test', { params: { path: { webhook_id: webhookId } } })),
    onSettled: refresh,
  });
  return (
    <Section
      title="Deliveries"
      aside={
        canReplay && (
          <Button isBusy={test.isPending} onClick={() => test.mutate()}>
            Send a test event
          </Button>
        )
      }
    >
      <ActionError error={replay.error ?? test.error} />
      <QueryView query={deliveries} what="The deliveries">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="Nothing was sent to this webhook yet." />
          ) : (
            <Table
              caption="Deliveries"
              columns={canReplay ? [...columns, actionColumn(replay)] : columns}
              rows={rows}
              rowId={({ id }) => id}
            />
          )
        }
      </QueryView>
    </Section>
  );
}

function useReplay(onSettled: () => void) {
  return useMutation({
    mutationFn: (id: string) =>
      bodyOf(
        api.POST('/v1/webhooks/deliveries/{delivery_id}/replay', { params: { path: { delivery_id: id } } }),
      ),
    onSettled,
  });
}

function actionColumn({ mutate, isPending, variables }: ReturnType<typeof useReplay>): Column<Delivery> {
  return {
    id: 'action',
    header: 'Action',
    width: 110,
    cell: ({ id, event }) => (
      <Button
        isBusy={isPending && variables === id}
        aria-label={`Replay ${event.type} of ${event.data.id}`}
        onClick={() => mutate(id)}
      >
        Replay
      </Button>
    ),
  };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

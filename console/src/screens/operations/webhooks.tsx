import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { api, bodyOf } from '../../api/client.ts';
import { type Webhook, webhooksQuery } from '../../api/operations.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { Deliveries } from './deliveries.tsx';

const route = getRouteApi('/operations');

const columns: readonly Column<Webhook>[] = [
  { id: 'name', header: 'Webhook', width: 200, cell: Name },
  { id: 'url', header: 'URL', cell: ({ url }) => <code title={url}>{url}</code> },
  { id: 'state', header: 'State', width: 120, cell: WebhookState },
  {
    id: 'events',
    header: 'Events',
    cell: ({ event_types: types }) => <span title={types.join(', ')}>{types.join(', ')}</span>,
  },
  { id: 'created', header: 'Created', width: 110, cell: (row) => <Time at={row.created_at} /> },
];

/** Webhooks of the own org, and the deliveries of one. */
export function Webhooks() {
  const webhooks = useQuery(webhooksQuery);
  const canChange = hasScope(useSession(), 'batches');
  const { webhook: selected } = route.useSearch();
  const change = useChange();
  const shown = canChange ? [...columns, actionColumn(change)] : columns;
  return (
    <>
      <Section title="Webhooks of this org">
        <ActionError error={change.error} />
        <QueryView query={webhooks} what="The webhooks" rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState title="This org has no webhooks.">
                <p>A webhook tells an endpoint of yours when a batch ends, so that nothing has to poll.</p>
                <Code label="Create a webhook" text="offpeak webhooks create https://example.com/offpeak" />
              </EmptyState>
            ) : (
              <Table caption="Webhooks" columns={shown} rows={rows} rowId={({ id }) => id} />
            )
          }
        </QueryView>
      </Section>
      {selected !== undefined && <Deliveries webhookId={selected} canReplay={canChange} />}
    </>
  );
}

function Name({ id, name }: Webhook) {
  return (
    <Link to="/operations" search={{ tab: 'webhooks', webhook: id }}>
      {name || id}
    </Link>
  );
}

function WebhookState({ enabled, disabled_reason: reason }: Webhook) {
  return enabled ? (
    <State kind="done">Enabled</State>
  ) : (
    <span title={reason ?? undefined}>
      <State kind="stopped">Disabled</State>
    </span>
  );
}

function useChange() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, enabled }: Webhook) =>
      bodyOf(
        api.PATCH('/v1/webhooks/{webhook_id}', {
          params: { path: { webhook_id: id } },
          body: { enabled: !enabled },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
  });
}

function actionColumn({ mutate, isPending, variables }: ReturnType<typeof useChange>): Column<Webhook> {
  return {
    id: 'action',
    header: 'Action',
    width: 110,
    cell: (webhook) => (
      <Button
        isBusy={isPending && variables.id === webhook.id}
        aria-label={`${webhook.enabled ? 'Disable' : 'Enable'} ${webhook.name || webhook.id}`}
        onClick={() => mutate(webhook)}
      >
        {webhook.enabled ? 'Disable' : 'Enable'}
      </Button>
    ),
  };
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { type BatchPause, pausesQuery } from '../../api/operations.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../parts/screen.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { PauseDialog } from './pause-dialog.tsx';

const columns: readonly Column<BatchPause>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => model ?? 'All models' },
  { id: 'org', header: 'Org', cell: ({ org, org_id: id }) => org ?? id ?? 'All orgs' },
  { id: 'since', header: 'Since', width: 120, cell: ({ since }) => <Time at={since} /> },
  { id: 'key', header: 'By key', width: 340, cell: ({ key_id: id }) => <code>{id}</code> },
];

/** Pauses of batches of a model, an org or all. Single requests go on. */
export function Pauses() {
  const pauses = useQuery(pausesQuery);
  const canChange = hasScope(useSession(), 'admin');
  const [isOpen, setOpen] = useState(false);
  const resume = useResume();
  const shown = canChange ? [...columns, actionColumn(resume)] : columns;
  return (
    <Section
      title="Pauses in force"
      aside={canChange && <Button onClick={() => setOpen(true)}>Pause batches</Button>}
    >
      <ActionError error={resume.error} />
      <QueryView query={pauses} what="The pauses" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No batches are paused by an administrator.">
              <p>A pause stops the requests of batches of a model, an org or all. Single requests go on.</p>
            </EmptyState>
          ) : (
            <Table caption="Pauses in force" columns={shown} rows={rows} rowId={idOf} />
          )
        }
      </QueryView>
      {isOpen && <PauseDialog onClose={() => setOpen(false)} />}
    </Section>
  );
}

function useResume() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ model, org_id: org }: BatchPause) =>
      bodyOf(api.POST('/v1/admin/resume', { body: scopeOf(model, org) })),
    onSuccess: ({ data }) => queries.setQueryData(pausesQuery.queryKey, data),
  });
}

/** A scope without a model and an org has to say that it means everything. */
function scopeOf(model: string | null, org: string | null) {
  return model === null && org === null ? { everything: true as const } : { model, org };
}

function actionColumn({ mutate, isPending, variables }: ReturnType<typeof useResume>): Column<BatchPause> {
  return {
    id: 'action',
    header: 'Action',
    width: 110,
    cell: (pause) => (
      <Button
        isBusy={isPending && idOf(variables) === idOf(pause)}
        aria-label={`Resume ${pause.model ?? 'all models'} of ${pause.org ?? 'all orgs'}`}
        onClick={() => mutate(pause)}
      >
        Resume
      </Button>
    ),
  };
}

function idOf({ model, org_id: org }: BatchPause): string {
  return `${model} ${org}`;
}

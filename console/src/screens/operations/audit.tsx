import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api, bodyOf, type Item } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import type { Column } from '../../parts/column.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Field } from '../../parts/field.tsx';
import { exactTime, toMs } from '../../parts/format.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../parts/screen.tsx';
import { Time } from '../../parts/time.tsx';
import css from './audit.module.css';
import { describeChange } from './describe-change.ts';

export type AuditEntry = Item<'/v1/admin/audit'>;

const route = getRouteApi('/operations');

const columns: readonly Column<AuditEntry>[] = [
  { id: 'at', header: 'When', width: 120, cell: ({ at }) => <Time at={at} /> },
  {
    id: 'actor',
    header: 'By',
    width: 180,
    cell: ({ actor }) => <span title={actor.key_id ?? undefined}>{actor.name || actor.key_id}</span>,
  },
  { id: 'action', header: 'Action', width: 150, cell: ({ action }) => action },
  { id: 'target', header: 'Target', width: 330, cell: ({ target }) => <code title={target}>{target}</code> },
  {
    id: 'change',
    header: 'Change',
    cell: (entry) => <span title={describeChange(entry)}>{describeChange(entry)}</span>,
  },
  { id: 'address', header: 'Address', width: 130, cell: ({ address }) => address ?? '–' },
];

interface Filter {
  actor?: string | undefined;
  target?: string | undefined;
}

function auditQuery({ actor, target }: Filter) {
  return infiniteQueryOptions({
    queryKey: ['audit', actor, target],
    queryFn: ({ signal, pageParam }) => {
      const query = {
        limit: 100,
        ...(actor && { actor }),
        ...(target && { target }),
        ...(pageParam && { after: pageParam }),
      };
      return bodyOf(api.GET('/v1/admin/audit', { params: { query }, signal }));
    },
    initialPageParam: '',
    getNextPageParam: ({ has_more: hasMore, last_id: last }) => (hasMore ? last : undefined),
  });
}

/** Administrative changes, newest first. A row opens the change in full. */
export function Audit() {
  const { actor, target } = route.useSearch();
  const audit = useInfiniteQuery(auditQuery({ actor, target }));
  const [opened, setOpened] = useState<AuditEntry>();
  return (
    <Section title="Audit log">
      <Filters key={`${actor} ${target}`} actor={actor} target={target} />
      <QueryView query={audit} what="The audit log" rows={10}>
        {({ pages }) => (
          <Entries
            pages={pages}
            onOpen={setOpened}
            onEnd={() => audit.hasNextPage && !audit.isFetchingNextPage && void audit.fetchNextPage()}
          />
        )}
      </QueryView>
      {opened && <EntryDialog entry={opened} onClose={() => setOpened(undefined)} />}
    </Section>
  );
}

interface EntriesProps {
  pages: readonly { data: AuditEntry[] }[];
  onOpen: (entry: AuditEntry) => void;
  onEnd: () => void;
}

function Entries({ pages, onOpen, onEnd }: EntriesProps) {
  const rows = pages.flatMap(({ data }) => data);
  if (rows.length === 0) return <EmptyState title="No change fits these filters." />;
  return (
    <DataTable
      caption="Audit log"
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      height="70vh"
      onOpen={onOpen}
      onEnd={onEnd}
    />
  );
}

/** Filters, which go into the address. */
function Filters({ actor = '', target = '' }: Filter) {
  const navigate = route.useNavigate();
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string) => {
      const value = fields.get(name);
      return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
    };
    void navigate({ search: { tab: 'audit', actor: text('actor'), target: text('target') } });
  }
  return (
    <form className={css.filters} onSubmit={submit}>
      <Field label="By key">
        {(ids) => <input {...ids} name="actor" defaultValue={actor} placeholder="key_..." />}
      </Field>
      <Field label="Target">
        {(ids) => (
          <input
            {...ids}
            name="target"
            defaultValue={target}
            placeholder="id of an org, a key, a batch ..."
          />
        )}
      </Field>
      <Button type="submit">Filter</Button>
    </form>
  );
}

function EntryDialog({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  return (
    <Dialog
      title={`${entry.action} of ${entry.target}`}
      onClose={onClose}
      actions={<Button onClick={onClose}>Close</Button>}
    >
      <p>
        {exactTime(toMs(entry.at))}, by {entry.actor.name || 'the server'}
        {entry.address && ` from ${entry.address}`}
      </p>
      {entry.before && <Code label="Before" text={json(entry.before)} />}
      {entry.after && <Code label="After" text={json(entry.after)} />}
      <Code label="Hash" text={entry.hash} />
    </Dialog>
  );
}

import type { SortingState } from '@tanstack/react-table';
import { useMemo, useState } from 'react';
import type { Column } from '../../parts/column.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { money } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import { keyState } from './key-state.ts';
import type { Key } from './queries.ts';

interface KeysTableProps {
  keys: readonly Key[];
  /** Epoch milliseconds. */
  now: number;
  /** False while more can be loaded. */
  isWhole: boolean;
  onEnd: () => void;
  onOpen: (key: Key) => void;
}

export function KeysTable({ keys, now, isWhole, onEnd, onOpen }: KeysTableProps) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const columns = useMemo(() => columnsAt(now), [now]);
  return (
    <DataTable
      caption="API keys"
      columns={columns}
      rows={keys}
      rowId={idOf}
      sorting={sorting}
      onSort={setSorting}
      onOpen={onOpen}
      {...(keys.length > 25 && { height: '70vh' })}
      onEnd={onEnd}
      empty={<EmptyState title={isWhole ? 'No key matches the filters.' : 'Looking through the keys …'} />}
    />
  );
}

function idOf({ id }: Key): string {
  return id;
}

function columnsAt(now: number): readonly Column<Key>[] {
  return [
    {
      id: 'state',
      header: 'State',
      width: 130,
      cell(key) {
        const { kind, word } = keyState(key, now);
        return <State kind={kind}>{word}</State>;
      },
      sortBy: (key) => keyState(key, now).word,
    },
    {
      id: 'name',
      header: 'Name',
      width: 160,
      cell: ({ name, id }) => <span title={`${name} ${id}`}>{name || id}</span>,
      sortBy: ({ name, id }) => name || id,
    },
    {
      id: 'org',
      header: 'Org',
      width: 120,
      cell: ({ org, org_id: id }) => <span title={id}>{org ?? id}</span>,
      sortBy: ({ org, org_id: id }) => org ?? id,
    },
    { id: 'prefix', header: 'Key', width: 190, cell: ({ prefix }) => <code>{prefix}</code> },
    {
      id: 'scopes',
      header: 'Scopes',
      width: 150,
      cell: ({ scopes }) => <span title={scopes.join(', ')}>{scopes.join(', ')}</span>,
    },
    {
      id: 'budget',
      header: 'Budget',
      width: 150,
      align: 'end',
      cell: ({ budget }) =>
        budget ? `${budget.spent === null ? '' : `${money(budget.spent)} / `}${money(budget.amount)}` : '–',
      sortBy: ({ budget }) => Number(budget?.amount ?? -1),
    },
    {
      id: 'used',
      header: 'Last used',
      width: 100,
      align: 'end',
      cell: ({ last_used_at: at }) => <Time at={at} />,
      sortBy: ({ last_used_at: at }) => at ?? '',
    },
  ];
}

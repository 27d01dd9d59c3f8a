import type { SortingState } from '@tanstack/react-table';
import { useMemo, useState } from 'react';
import type { Column } from '../../parts/column.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { compact, count, percent } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { groupLabels } from './filters.tsx';
import type { Group } from './search.ts';
import { fromNano, type GroupSum } from './sums.ts';

interface GroupTableProps {
  by: Group;
  sums: readonly GroupSum[];
  /** Opens the usage of one group; absent where there is nothing more to see. */
  onOpen?: ((id: string) => void) | undefined;
}

/** Sums of the range by group. */
export function GroupTable({ by, sums, onOpen }: GroupTableProps) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const columns = useMemo(() => columnsOf(by, sums), [by, sums]);
  return (
    <DataTable
      caption={`Usage by ${groupLabels[by].toLowerCase()}`}
      columns={columns}
      rows={sums}
      rowId={idOf}
      sorting={sorting}
      onSort={setSorting}
      {...(onOpen && { onOpen: ({ id }: GroupSum) => onOpen(id) })}
      {...(sums.length > 25 && { height: '60vh' })}
      empty={<EmptyState title="Nothing was used in these days." />}
    />
  );
}

function idOf({ id }: GroupSum): string {
  return id;
}

function columnsOf(by: Group, sums: readonly GroupSum[]): readonly Column<GroupSum>[] {
  const all = sums.reduce((sum, { nano }) => sum + nano, 0);
  return [
    {
      id: 'group',
      header: groupLabels[by],
      width: 260,
      cell: ({ id, label }) => <span title={id || label}>{label}</span>,
      sortBy: ({ label }) => label,
    },
    tokens('requests', 'Requests', ({ requests }) => requests),
    tokens('input', 'Input tokens', ({ inputTokens }) => inputTokens),
    {
      id: 'cached',
      header: 'Cached',
      width: 90,
      align: 'end',
      cell: ({ cachedTokens, inputTokens }) => percent(cachedTokens, inputTokens),
      sortBy: ({ cachedTokens, inputTokens }) => cachedTokens / Math.max(1, inputTokens),
    },
    tokens('output', 'Output tokens', ({ outputTokens }) => outputTokens),
    {
      id: 'share',
      header: 'Share',
      width: 90,
      align: 'end',
      cell: ({ nano }) => percent(nano, all),
    },
    {
      id: 'amount',
      header: 'Spend',
      width: 110,
      align: 'end',
      cell: ({ nano }) => <Money amount={fromNano(nano)} />,
      sortBy: ({ nano }) => nano,
    },
  ];
}

function tokens(id: string, header: string, of: (sum: GroupSum) => number): Column<GroupSum> {
  const cell = (sum: GroupSum) => <span title={count(of(sum))}>{compact(of(sum))}</span>;
  return { id, header, width: 120, align: 'end', cell, sortBy: of };
}

import type { Column } from '../../parts/column.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { count, money } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import type { Org } from '../../api/orgs.ts';
import type { Key } from './queries.ts';

export interface OrgRow extends Org {
  /** Number of its keys that can be used, with a plus sign while not all are loaded. */
  keys: string;
}

const columns: readonly Column<OrgRow>[] = [
  {
    id: 'state',
    header: 'State',
    width: 140,
    cell: ({ disabled }) =>
      disabled ? <State kind="stopped">Disabled</State> : <State kind="done">Active</State>,
  },
  {
    id: 'name',
    header: 'Org',
    width: 200,
    cell: ({ name, id }) => <span title={`${name} ${id}`}>{name}</span>,
  },
  { id: 'keys', header: 'Keys', width: 80, align: 'end', cell: ({ keys }) => keys },
  { id: 'weight', header: 'Weight', width: 80, align: 'end', cell: ({ weight }) => count(weight) },
  {
    id: 'limits',
    header: 'Limits set',
    width: 90,
    align: 'end',
    cell: ({ limits }) => count(Object.keys(limits).length),
  },
  {
    id: 'budget',
    header: 'Budget',
    width: 150,
    align: 'end',
    cell: ({ budget }) => (budget ? `${money(budget.spent ?? '0')} / ${money(budget.amount)}` : '–'),
  },
  { id: 'created', header: 'Created', width: 110, align: 'end', cell: (org) => <Time at={org.created_at} /> },
];

interface OrgsTableProps {
  orgs: readonly Org[];
  /** Keys that can be used. */
  keys: readonly Key[];
  /** False while more keys can be loaded. */
  areAllKeys: boolean;
  /** The only org whose keys are loaded. */
  onlyOrg: string | undefined;
  /** Absent for a session that changes nothing. */
  onOpen?: ((org: Org) => void) | undefined;
}

export function OrgsTable({ orgs, keys, areAllKeys, onlyOrg, onOpen }: OrgsTableProps) {
  const byOrg = Map.groupBy(keys, (key) => key.org_id);
  const numberOf = (id: string) =>
    onlyOrg !== undefined && id !== onlyOrg
      ? '–'
      : `${count(byOrg.get(id)?.length ?? 0)}${areAllKeys ? '' : '+'}`;
  const rows = orgs.map((org) => ({ ...org, keys: numberOf(org.id) }));
  return (
    <DataTable
      caption="Orgs"
      columns={columns}
      rows={rows}
      rowId={idOf}
      {...(onOpen && { onOpen })}
      {...(rows.length > 15 && { height: '40vh' })}
    />
  );
}

function idOf({ id }: Org): string {
  return id;
}

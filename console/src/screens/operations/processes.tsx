import { useQuery } from '@tanstack/react-query';
import { type Process, processesQuery } from '../../api/operations.ts';
import type { Column } from '../../parts/column.ts';
import { count, counted } from '../../parts/format.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';

const columns: readonly Column<Process>[] = [
  { id: 'process', header: 'Process', width: 230, cell: Name },
  { id: 'state', header: 'State', width: 160, cell: ProcessState },
  { id: 'role', header: 'Role', width: 80, cell: ({ role }) => role },
  { id: 'version', header: 'Version', width: 90, cell: ({ version }) => version ?? 'Older' },
  {
    id: 'started',
    header: 'Started',
    width: 100,
    align: 'end',
    cell: ({ started_at: at }) => <Time at={at} />,
  },
  {
    id: 'lines',
    header: 'Batch requests',
    width: 120,
    align: 'end',
    cell: ({ in_flight: { batch_lines: lines } }) => count(lines),
  },
  {
    id: 'single',
    header: 'Single requests',
    width: 120,
    align: 'end',
    cell: ({ in_flight: { requests } }) => count(requests),
  },
  { id: 'leases', header: 'Leases', width: 210, cell: Leases },
  {
    id: 'models',
    header: 'Models',
    width: 200,
    cell: ({ models }) => <span title={models.join(', ')}>{models.join(', ')}</span>,
  },
];

/** The server processes on the database, with the work that each holds by lease. */
export function Processes() {
  const processes = useQuery(processesQuery);
  return (
    <section>
      <QueryView query={processes} what="The processes" rows={2}>
        {(rows) => <Table caption="Processes" columns={columns} rows={rows} rowId={({ id }) => id} />}
      </QueryView>
    </section>
  );
}

function Name({ id, host, pid, is_self: isSelf }: Process) {
  const place = host === null ? id : `${host}, process ${pid}`;
  return (
    <span title={`${place} (${id})`}>
      {host ?? id}
      {isSelf && ' · answers here'}
    </span>
  );
}

function ProcessState({ state, last_seen_at: at }: Process) {
  if (state === 'alive') return <State kind="done">Alive</State>;
  return (
    <span>
      <State kind="failed">Silent</State> <Time at={at} />
    </span>
  );
}

function Leases({ leases: { chunks, lines, slots } }: Process) {
  const work = chunks === 0 ? 'No work' : `${counted(chunks, 'chunk')}, ${counted(lines, 'request')}`;
  const shares = slots.map(({ model, slots: leased }) => `${model}: ${counted(leased, 'slot')}`).join(', ');
  return <span title={shares === '' ? work : `${work}; ${shares}`}>{work}</span>;
}

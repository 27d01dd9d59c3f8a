import type { Column } from '../../parts/column.ts';
import { compact, count, latency, toMs } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { State, type StateKind } from '../../parts/state.tsx';
import { ClockTime } from '../../parts/clock-time.tsx';
import type { RecentRequest } from './queries.ts';

/** Columns of the table, for a reader who sees several orgs. */
export const columns: readonly Column<RecentRequest>[] = [
  {
    id: 'started',
    header: 'Time',
    width: 84,
    cell: (row) => <ClockTime at={row.started_at} />,
    sortBy: (row) => toMs(row.started_at),
  },
  { id: 'result', header: 'Result', width: 214, cell: Result, sortBy: ({ status }) => status },
  {
    id: 'model',
    header: 'Model',
    width: 120,
    cell: ({ model }) => model ?? '–',
    sortBy: ({ model }) => model ?? '',
  },
  {
    id: 'endpoint',
    header: 'Endpoint',
    width: 136,
    cell: ({ endpoint }) => <span title={endpoint}>{shortEndpoint(endpoint)}</span>,
    sortBy: ({ endpoint }) => endpoint,
  },
  {
    id: 'key',
    header: 'Org and key',
    width: 164,
    cell: Owner,
    sortBy: (row) => `${orgOf(row)} ${keyOf(row)}`,
  },
  number('input', 'Input', 60, ({ input_tokens: tokens }) => tokens),
  number('output', 'Output', 66, ({ output_tokens: tokens }) => tokens),
  {
    id: 'ms',
    header: 'Took',
    width: 72,
    align: 'end',
    cell: ({ ms }) => latency(ms),
    sortBy: ({ ms }) => ms,
  },
  {
    id: 'amount',
    header: 'Cost',
    width: 104,
    align: 'end',
    cell: ({ amount }) => <Money amount={amount} />,
    sortBy: ({ amount }) => Number(amount ?? -1),
  },
];

function number(
  id: string,
  header: string,
  width: number,
  of: (row: RecentRequest) => number | null,
): Column<RecentRequest> {
  const cell = (row: RecentRequest) => {
    const value = of(row);
    return value === null ? '–' : <span title={count(value)}>{compact(value)}</span>;
  };
  return { id, header, width, align: 'end', cell, sortBy: (row) => of(row) ?? -1 };
}

/** Status with the code of an error. */
export function Result({ status, code }: Pick<RecentRequest, 'status' | 'code'>) {
  const text = status === 499 ? '499 client left' : code === null ? String(status) : `${status} ${code}`;
  return (
    <State kind={kindOf(status)}>
      <span title={text}>{text}</span>
    </State>
  );
}

function kindOf(status: number): StateKind {
  if (status < 400) return 'done';
  if (status === 499) return 'stopped';
  return status < 500 ? 'warning' : 'failed';
}

function Owner(row: RecentRequest) {
  return <span title={`${row.org_id} ${row.key_id}`}>{`${orgOf(row)} · ${keyOf(row)}`}</span>;
}

export function orgOf({ org, org_id: id }: Pick<RecentRequest, 'org' | 'org_id'>): string {
  return org ?? id;
}

export function keyOf({ key_name: name, key_id: id }: Pick<RecentRequest, 'key_name' | 'key_id'>): string {
  return name || id;
}

/** Endpoint without the version that all have. */
export function shortEndpoint(endpoint: string): string {
  return endpoint.replace(/^\/v1\//, '');
}

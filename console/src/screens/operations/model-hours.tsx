import { useQuery } from '@tanstack/react-query';
import { type ModelQueue, queueQuery } from '../../api/operations.ts';
import type { Column } from '../../parts/column.ts';
import { percent } from '../../parts/format.ts';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import css from './model-hours.module.css';

interface Row {
  model: string;
  hours: NonNullable<ModelQueue['hours']>;
}

const columns: readonly Column<Row>[] = [
  { id: 'model', header: 'Model', width: 200, cell: ({ model }) => <span title={model}>{model}</span> },
  {
    id: 'state',
    header: 'State',
    width: 110,
    cell: ({ hours: { is_open: isOpen } }) =>
      isOpen ? <State kind="done">Open</State> : <State kind="waiting">Closed</State>,
  },
  { id: 'hours', header: 'Open', width: 240, cell: ({ hours: { open } }) => open },
  {
    id: 'change',
    header: 'Next change',
    width: 110,
    cell: ({ hours: { changes_at: at } }) => <Time at={at} />,
  },
  {
    id: 'share',
    header: 'Slots outside hours',
    width: 150,
    align: 'end',
    cell: ({ hours: { share } }) => (share === 0 ? 'None' : percent(share, 1)),
  },
];

/** Hours in which batches of the models run, for models that have any. */
export function ModelHours() {
  const { data: queue = [] } = useQuery(queueQuery);
  const rows = queue.flatMap(({ model, hours }): Row[] => (hours ? [{ model, hours }] : []));
  if (rows.length === 0) return null;
  return (
    <div className={css.hours}>
      <Section title="Batch hours">
        <Table caption="Batch hours" columns={columns} rows={rows} rowId={({ model }) => model} />
      </Section>
    </div>
  );
}

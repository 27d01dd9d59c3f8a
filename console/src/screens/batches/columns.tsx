import type { Batch } from '../../api/batches.ts';
import { BatchProgress } from '../../parts/batch-progress.tsx';
import { batchState } from '../../parts/batch-state.ts';
import type { Column } from '../../parts/column.ts';
import { compact, count, duration, exactTime, money, relativeTime, toMs } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { State } from '../../parts/state.tsx';
import { Time, useNow } from '../../parts/time.tsx';
import css from './batches.module.css';
import type { ColumnId } from './search.ts';

/** Columns of the list in their order. */
export const columns: readonly (Column<Batch> & { id: ColumnId })[] = [
  { id: 'name', header: 'Batch', cell: Name },
  { id: 'org', header: 'Org', width: 96, cell: ({ org }) => org ?? '–' },
  {
    id: 'state',
    header: 'State',
    width: 164,
    cell(batch) {
      const { kind, word } = batchState(batch);
      return (
        <span title={batch.waiting?.message}>
          <State kind={kind}>{word}</State>
        </span>
      );
    },
  },
  { id: 'progress', header: 'Progress', width: 132, cell: (batch) => <BatchProgress batch={batch} /> },
  {
    id: 'done',
    header: 'Done',
    width: 100,
    align: 'end',
    cell: ({ request_counts: { completed, total } }) => `${compact(completed)} / ${compact(total)}`,
  },
  {
    id: 'failed',
    header: 'Failed',
    width: 64,
    align: 'end',
    cell: ({ request_counts: { failed } }) =>
      failed > 0 ? <span className={css.failed}>{count(failed)}</span> : '0',
  },
  {
    id: 'rate',
    header: 'Per min',
    width: 84,
    align: 'end',
    cell: ({ progress: { rate_per_minute: rate } }) => (rate === null ? '–' : compact(Math.round(rate))),
  },
  { id: 'eta', header: 'Ends', width: 150, align: 'end', cell: (batch) => <Ends batch={batch} /> },
  { id: 'cost', header: 'Cost', width: 80, align: 'end', cell: ({ cost }) => <Money amount={cost.amount} /> },
  { id: 'saved', header: 'Saved', width: 80, align: 'end', cell: Saved },
  { id: 'model', header: 'Model', width: 140, cell: ({ model }) => model ?? 'several' },
  {
    id: 'created',
    header: 'Created',
    width: 100,
    align: 'end',
    cell: (batch) => <Time at={batch.created_at} />,
  },
  { id: 'id', header: 'Id', width: 320, cell: ({ id }) => <code>{id}</code> },
];

function Name({ id, name }: Batch) {
  return name === null ? <code title={id}>{id}</code> : <span title={`${name} (${id})`}>{name}</span>;
}

/** Amount that a batch saved against single requests without a cache. */
function Saved({ cost }: Batch) {
  const saved = Number(cost.uncached_amount) - Number(cost.amount);
  if (saved <= 0) return '–';
  return (
    <span title={`Single requests without a cache would cost $${cost.uncached_amount}`}>{money(saved)}</span>
  );
}

/** Expected end with the time to spare until the deadline, or how long ago it ended. */
function Ends({ batch }: { batch: Batch }) {
  const now = useNow();
  const ended = batch.completed_at ?? batch.failed_at ?? batch.expired_at ?? batch.cancelled_at;
  if (ended !== null) return <Time at={ended} />;
  const deadline = toMs(batch.expires_at);
  const { eta } = batch.progress;
  const title = `Deadline ${exactTime(deadline)}`;
  if (eta === null)
    return (
      <span title={title} className={css.quiet}>
        due {relativeTime(deadline, now)}
      </span>
    );
  const spare = deadline - toMs(eta);
  return (
    <span title={title}>
      {relativeTime(toMs(eta), now)}{' '}
      <span className={spare < 0 ? css.failed : css.quiet}>
        {spare < 0 ? `${duration(-spare)} late` : `${duration(spare)} spare`}
      </span>
    </span>
  );
}

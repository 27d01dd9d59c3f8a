import { linesNotRun } from '../../../../src/core/line.ts';
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
  { id: 'name', header: 'Batch', width: 160, cell: Name },
  { id: 'org', header: 'Org', width: 84, cell: ({ org }) => org ?? '–' },
  {
    id: 'state',
    header: 'State',
    width: 204,
    cell(batch) {
      const { kind, word } = batchState(batch);
      return (
        <span title={batch.waiting?.message}>
          <State kind={kind}>{word}</State>
        </span>
      );
    },
  },
  { id: 'progress', header: 'Progress', width: 184, cell: (batch) => <BatchProgress batch={batch} /> },
  {
    id: 'done',
    header: 'Done',
    width: 112,
    align: 'end',
    cell: ({ request_counts: { completed, total } }) => `${compact(completed)} / ${compact(total)}`,
  },
  {
    id: 'failed',
    header: 'Failed',
    width: 62,
    align: 'end',
    cell: Failed,
  },
  {
    id: 'rate',
    header: 'Per min',
    width: 74,
    align: 'end',
    cell: ({ progress: { rate_per_minute: rate } }) => (rate === null ? '–' : compact(Math.round(rate))),
  },
  { id: 'eta', header: 'Ends', width: 104, align: 'end', cell: (batch) => <Ends batch={batch} /> },
  {
    id: 'cost',
    header: 'Cost',
    width: 104,
    align: 'end',
    cell: ({ cost }) => <Money amount={cost.amount} />,
  },
  { id: 'saved', header: 'Saved', width: 96, align: 'end', cell: Saved },
  { id: 'model', header: 'Model', width: 140, cell: ({ model }) => model ?? 'several' },
  {
    id: 'created',
    header: 'Created',
    width: 100,
    align: 'end',
    cell: (batch) => <Time at={batch.created_at} />,
  },
  { id: 'id', header: 'ID', width: 320, cell: ({ id }) => <code>{id}</code> },
];

function Name({ id, name }: Batch) {
  if (name === null) return <code title={id}>{id}</code>;
  return (
    <span className={css.name} title={`${name} (${id})`}>
      {name}
    </span>
  );
}

/** Lines that ran and failed; those that never ran are no failures. */
function Failed({ request_counts: { failed }, error_summary: errors }: Batch) {
  const never = linesNotRun(errors);
  const wrong = failed - never;
  const title = never > 0 ? `${count(never)} did not run` : undefined;
  return (
    <span className={wrong > 0 ? 'bad' : 'quiet'} title={title}>
      {compact(wrong)}
    </span>
  );
}

/** Amount that a batch saved against single requests without a cache. */
function Saved({ cost }: Batch) {
  const saved = Number(cost.uncached_amount) - Number(cost.amount);
  if (saved <= 0) return '–';
  return (
    <span title={`Single requests without a cache would cost $${cost.uncached_amount}`}>{money(saved)}</span>
  );
}

/** Expected end, in red if it is after the deadline; the deadline if the end is unknown; or how long ago the batch ended. */
function Ends({ batch }: { batch: Batch }) {
  const now = useNow();
  const ended = batch.completed_at ?? batch.failed_at ?? batch.expired_at ?? batch.cancelled_at;
  if (ended !== null) return <Time at={ended} />;
  const deadline = toMs(batch.expires_at);
  const { eta } = batch.progress;
  const due = `Deadline ${exactTime(deadline)}`;
  if (eta === null)
    return (
      <span title={due} className="quiet">
        due {relativeTime(deadline, now)}
      </span>
    );
  const spare = deadline - toMs(eta);
  const note = spare < 0 ? `${duration(-spare)} too late` : `${duration(spare)} to spare`;
  return (
    <span title={`${due}, ${note}`} className={spare < 0 ? 'bad' : undefined}>
      {relativeTime(toMs(eta), now)}
    </span>
  );
}

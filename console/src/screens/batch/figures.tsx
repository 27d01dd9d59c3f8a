import { linesNotRun } from '../../../../src/core/line.ts';
import type { Batch } from '../../api/batches.ts';
import { BatchProgress } from '../../parts/batch-progress.tsx';
import { compact, count, counted, duration, localTimes, money, percent, toMs } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { type Stat, Stats } from '../../parts/stats.tsx';
import { Time } from '../../parts/time.tsx';
import css from './batch.module.css';

/** Progress of a batch in numbers, and why it waits. */
export function Figures({ batch }: { batch: Batch }) {
  const { progress, waiting } = batch;
  return (
    <>
      {waiting && (
        <p className={css.wait}>
          {localTimes(waiting.message)} Since <Time at={waiting.since} />
          {waiting.until !== null && (
            <>
              , until <Time at={waiting.until} />
            </>
          )}
          {progress.batches_ahead !== null &&
            `, ${counted(progress.batches_ahead, 'batch', 'batches')} ahead`}
          .
        </p>
      )}
      {faultsOf(batch).map(({ code, message }) => (
        <p key={code} className={css.wait}>
          <code>{code}</code> {message}
        </p>
      ))}
      <BatchProgress batch={batch} />
      <Stats stats={[...lineStats(batch), ...timeStats(batch), costStat(batch)]} />
    </>
  );
}

function lineStats({ request_counts: { total, completed, failed }, progress, error_summary }: Batch): Stat[] {
  const never = linesNotRun(error_summary);
  const wrong = failed - never;
  const rate = progress.rate_per_minute;
  return [
    { label: 'Done', value: count(completed), note: `of ${counted(total, 'request')}` },
    {
      label: 'Failed',
      value: <span className={wrong > 0 ? 'bad' : undefined}>{count(wrong)}</span>,
      note: never > 0 ? `${count(never)} did not run` : wrong > 0 && percent(wrong, completed + wrong),
    },
    {
      label: 'Per minute',
      value: rate === null ? '–' : compact(Math.round(rate)),
      note: progress.running > 0 ? `${count(progress.running)} in flight` : 'requests',
    },
  ];
}

function timeStats(batch: Batch): Stat[] {
  const ended = batch.completed_at ?? batch.failed_at ?? batch.expired_at ?? batch.cancelled_at;
  if (ended !== null) {
    const took = toMs(ended) - toMs(batch.created_at);
    return [
      { label: 'Created', value: <Time at={batch.created_at} /> },
      { label: 'Ended', value: <Time at={ended} />, note: `after ${duration(took)}` },
    ];
  }
  const deadline: Stat = {
    label: 'Deadline',
    value: <Time at={batch.expires_at} />,
    note: `window of ${batch.completion_window}`,
  };
  const { eta } = batch.progress;
  if (eta === null) return [{ label: 'Expected end', value: '–', note: 'not known yet' }, deadline];
  const spare = toMs(batch.expires_at) - toMs(eta);
  const note =
    spare < 0 ? <span className="bad">{duration(-spare)} too late</span> : `${duration(spare)} to spare`;
  return [{ label: 'Expected end', value: <Time at={eta} />, note }, deadline];
}

function costStat({ cost }: Batch): Stat {
  const saved = Number(cost.uncached_amount) - Number(cost.amount);
  return {
    label: 'Cost',
    value: <Money amount={cost.amount} />,
    note: saved > 0 ? `${money(saved)} saved` : undefined,
  };
}

/** Errors of the batch as a whole. */
function faultsOf({ errors }: Batch): readonly { code: string; message: string }[] {
  return (errors as { data?: { code: string; message: string }[] } | null)?.data ?? [];
}

import { linesNotRun } from '../../../src/core/line.ts';
import { Bar } from './bar.tsx';
import css from './batch-progress.module.css';
import { compact, count, percent } from './format.ts';

interface BatchProgressProps {
  batch: {
    request_counts: { total: number; completed: number; failed: number };
    progress: { running: number };
    error_summary?: readonly { code: string; count: number }[];
  };
}

/** Lines of a batch that are done, failed and running, as a bar and in percent of all. */
export function BatchProgress({ batch }: BatchProgressProps) {
  const { total, completed } = batch.request_counts;
  const { running } = batch.progress;
  const never = linesNotRun(batch.error_summary ?? []);
  const failed = batch.request_counts.failed - never;
  const rest = never > 0 ? `, ${count(never)} did not run` : '';
  return (
    <span className={css.progress}>
      <Bar
        label={`${count(completed)} of ${count(total)} done, ${count(failed)} failed, ${count(running)} running${rest}`}
        total={total}
        parts={[
          { kind: 'done', value: completed },
          { kind: 'failed', value: failed },
          { kind: 'running', value: running },
        ]}
      />
      <span className={css.percent}>{percent(completed + failed, total)}</span>
      <span className={css.total}>of {compact(total)}</span>
    </span>
  );
}

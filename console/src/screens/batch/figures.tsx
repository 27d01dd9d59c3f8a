import type { ReactNode } from 'react';
import type { Batch } from '../../api/batches.ts';
import { BatchProgress } from '../../parts/batch-progress.tsx';
import { batchState } from '../../parts/batch-state.ts';
import { compact, count, duration, toMs } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import css from './batch.module.css';

/** State and progress of a batch, and why it waits. */
export function Figures({ batch }: { batch: Batch }) {
  const { request_counts: counts, progress, waiting } = batch;
  const { kind, word } = batchState(batch);
  const ended = batch.completed_at ?? batch.failed_at ?? batch.expired_at ?? batch.cancelled_at;
  const spare = progress.eta === null ? null : toMs(batch.expires_at) - toMs(progress.eta);
  return (
    <>
      {waiting && (
        <p className={css.wait}>
          {waiting.message} Since <Time at={waiting.since} />
          {waiting.until !== null && (
            <>
              , until <Time at={waiting.until} />
            </>
          )}
          {progress.batches_ahead !== null && `, ${count(progress.batches_ahead)} batches ahead`}.
        </p>
      )}
      {faultsOf(batch).map(({ code, message }) => (
        <p key={code} className={css.wait}>
          <code>{code}</code> {message}
        </p>
      ))}
      <BatchProgress batch={batch} />
      <dl className={css.figures}>
        <Figure name="State">
          <State kind={kind}>{word}</State>
        </Figure>
        <Figure name="Done">
          {count(counts.completed)} of {count(counts.total)}
        </Figure>
        <Figure name="Failed">
          <span className={counts.failed > 0 ? css.failed : undefined}>{count(counts.failed)}</span>
        </Figure>
        <Figure name="In flight">{count(progress.running)}</Figure>
        <Figure name="Per minute">
          {progress.rate_per_minute === null ? '–' : compact(Math.round(progress.rate_per_minute))}
        </Figure>
        <Figure name={ended === null ? 'Expected end' : 'Ended'}>
          <Time at={ended ?? progress.eta} />
        </Figure>
        <Figure name="Deadline">
          <Time at={batch.expires_at} />
        </Figure>
        {spare !== null && (
          <Figure name="Time to spare">
            <span className={spare < 0 ? css.failed : undefined}>{duration(spare)}</span>
          </Figure>
        )}
      </dl>
    </>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Errors of the batch as a whole. */
function faultsOf({ errors }: Batch): readonly { code: string; message: string }[] {
  return (errors as { data?: { code: string; message: string }[] } | null)?.data ?? [];
}

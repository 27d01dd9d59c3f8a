import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useMemo } from 'react';
import { isFinal } from '../../../../src/core/batch.ts';
import { type Batch as BatchObject, batchHistoryQuery, batchQuery, seesAllOrgs } from '../../api/batches.ts';
import { useBatchEvents } from '../../api/batch-events.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { BatchActions } from '../../parts/batch-actions.tsx';
import { BatchScreen } from '../../parts/batch-screen.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { Loading } from '../../parts/loading.tsx';
import { Pair, Section } from '../../parts/screen.tsx';
import { About } from './about.tsx';
import { AsCode } from './as-code.tsx';
import css from './batch.module.css';
import { Cost } from './cost.tsx';
import { Downloads } from './downloads.tsx';
import { Errors } from './errors.tsx';
import { Figures } from './figures.tsx';
import { ratesOf } from './rates.ts';
import { Timeline } from './timeline.tsx';

const RateChart = lazy(async () => ({ default: (await import('./rate-chart.tsx')).RateChart }));

/** One batch: live, with its history, its errors, its cost and its results. */
export function Batch() {
  const { batchId = '' } = useParams({ strict: false });
  const isAdmin = seesAllOrgs(useSession());
  const query = batchQuery(isAdmin, batchId);
  const { data: batch, error, refetch } = useQuery(query);
  const queries = useQueryClient();
  const filters = useMemo(() => ({ q: batchId }), [batchId]);
  useBatchEvents(isAdmin, filters, {
    onChange(changed, deleted) {
      const next = changed.find(({ id }) => id === batchId);
      if (next) queries.setQueryData(query.queryKey, next);
      // Shows that it is gone.
      if (deleted.has(batchId)) void queries.resetQueries({ queryKey: query.queryKey });
    },
    onGap: () => void refetch(),
  });
  if (batch) return <Shown batch={batch} isAdmin={isAdmin} />;
  return (
    <BatchScreen batchId={batchId} batch={undefined}>
      {error ? (
        <ErrorState error={error} what="The batch" onRetry={() => void refetch()} />
      ) : (
        <Loading what="the batch" rows={8} />
      )}
    </BatchScreen>
  );
}

function Shown({ batch, isAdmin }: { batch: BatchObject; isAdmin: boolean }) {
  const session = useSession();
  const isOpen = !isFinal(batch.status);
  const canAct = hasScope(session, isAdmin ? 'admin' : 'batches');
  const { data: history, error, refetch } = useQuery(batchHistoryQuery(isAdmin, batch.id, isOpen));
  const rates = useMemo(() => ratesOf(history?.points ?? []), [history]);
  // They come first once they can run again.
  const errors = batch.error_summary.length > 0 && (
    <Section title="Errors">
      <Errors batch={batch} isAdmin={isAdmin} canRetry={canAct && !isOpen} />
    </Section>
  );
  return (
    <BatchScreen
      batchId={batch.id}
      batch={batch}
      actions={
        <>
          <CopyButton text={window.location.href} what="the link" label="Copy link" />
          {canAct && (
            <BatchActions
              label="Actions"
              isAdmin={isAdmin}
              target={{ ids: [batch.id] }}
              kinds={isOpen ? [batch.waiting?.reason === 'paused' ? 'resume' : 'pause', 'cancel'] : []}
            />
          )}
        </>
      }
    >
      <div className={css.head}>
        <Figures batch={batch} />
        <About batch={batch} />
      </div>
      {!isOpen && errors}
      <Pair>
        <Section title="Rate">
          {rates.at.length > 0 ? (
            <Suspense fallback={<Loading what="the curve" rows={6} />}>
              <RateChart rates={rates} label="Requests done and failed per minute, over time" />
            </Suspense>
          ) : (
            <EmptyState
              title={isOpen ? 'No request has run yet.' : 'The batch ended before its rate was recorded.'}
            />
          )}
        </Section>
        <Section title="Timeline">
          {history ? (
            <Timeline history={history} isOpen={isOpen} />
          ) : error ? (
            <ErrorState error={error} what="The timeline" onRetry={() => void refetch()} />
          ) : (
            <Loading what="the timeline" />
          )}
        </Section>
      </Pair>
      {isOpen && errors}
      <div className={css.columns}>
        <Section title="Cost">
          <Cost batch={batch} />
        </Section>
        <Section title="Files">
          <Downloads batch={batch} />
        </Section>
      </div>
      <Section title="The same in code">
        <AsCode id={batch.id} />
      </Section>
    </BatchScreen>
  );
}

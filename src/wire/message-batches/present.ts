import { isoSeconds } from '../../base/clock.ts';
import { endedAt, isFinal } from '../../core/batch.ts';
import { nullable } from '../shared/instant.ts';
import type { BatchView } from '../batch/present.ts';

const iso = nullable(isoSeconds);

type View = Pick<BatchView, 'batch' | 'errorSummary'>;

/** Batch resource of the messages API. @param base of the address of its results; '' for a path */
export function presentMessageBatch({ batch, errorSummary }: View, base: string) {
  const { id, ok, err, total, status } = batch;
  const countOf = (code: string) => errorSummary.find((each) => each.code === code)?.count ?? 0;
  const canceled = countOf('batch_cancelled');
  const expired = countOf('batch_expired');
  const ended = isFinal(status);
  return {
    id,
    type: 'message_batch' as const,
    processing_status: ended ? 'ended' : status === 'cancelling' ? 'canceling' : 'in_progress',
    request_counts: {
      processing: total - ok - err,
      succeeded: ok,
      errored: err - canceled - expired,
      canceled,
      expired,
    },
    created_at: isoSeconds(batch.createdAt),
    expires_at: isoSeconds(batch.expiresAt),
    ended_at: iso(endedAt(batch)),
    cancel_initiated_at: iso(batch.cancellingAt),
    archived_at: null,
    results_url: ended ? `${base}/v1/messages/batches/${id}/results` : null,
  };
}

export function presentMessageBatches(views: readonly View[], hasMore: boolean, base: string) {
  return {
    data: views.map((view) => presentMessageBatch(view, base)),
    has_more: hasMore,
    first_id: views[0]?.batch.id ?? null,
    last_id: views.at(-1)?.batch.id ?? null,
  };
}

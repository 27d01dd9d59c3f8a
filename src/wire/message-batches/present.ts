import { isoSeconds } from '../../base/clock.ts';
import { isFinal } from '../../core/batch.ts';
import { nullable } from '../shared/instant.ts';
import type { BatchView } from '../batch/present.ts';

const iso = nullable(isoSeconds);

type View = Pick<BatchView, 'batch' | 'errorSummary'>;

/** Batch resource of the messages API. */
export function presentMessageBatch({ batch, errorSummary }: View) {
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
    ended_at: iso(batch.completedAt ?? batch.failedAt ?? batch.expiredAt ?? batch.cancelledAt),
    cancel_initiated_at: iso(batch.cancellingAt),
    archived_at: null,
    // Relative, because only clients know the public URL behind a proxy; they resolve it against their base URL.
    results_url: ended ? `/v1/messages/batches/${id}/results` : null,
  };
}

export function presentMessageBatches(views: readonly View[], hasMore: boolean) {
  return {
    data: views.map(presentMessageBatch),
    has_more: hasMore,
    first_id: views[0]?.batch.id ?? null,
    last_id: views.at(-1)?.batch.id ?? null,
  };
}

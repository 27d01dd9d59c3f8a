import { useQuery } from '@tanstack/react-query';
import { batchStatuses, isFinal } from '../../../../src/core/batch.ts';
import { batchCountsQuery, type BatchCounts, sumCounts } from '../../api/batches.ts';
import { compact } from '../../parts/format.ts';
import { type Stat, Stats } from '../../parts/stats.tsx';
import { type ModelQueue, queueQuery } from '../../api/operations.ts';
import { Slack } from './slack.tsx';
import { openBatchesQuery, type OpenBatch, pageSize } from './queries.ts';

const openStatuses = batchStatuses.filter((status) => !isFinal(status));

/** The numbers of the moment. Dashes stand for those that are not known yet, so that nothing moves when they come. */
export function Summary({ isAdmin }: { isAdmin: boolean }) {
  const { data: batches } = useQuery(openBatchesQuery(isAdmin));
  const { data: counts } = useQuery(batchCountsQuery(isAdmin));
  const { data: queue } = useQuery({ ...queueQuery, enabled: isAdmin });
  return <Stats stats={[...batchStats(batches, counts, queue), ...(isAdmin ? queueStats(queue) : [])]} />;
}

/** @param batches a part of the open ones, where there are many */
function batchStats(
  batches: readonly OpenBatch[] | undefined,
  counts: BatchCounts | undefined,
  queue: readonly ModelQueue[] | undefined,
): Stat[] {
  const open = counts && sumCounts(counts, openStatuses);
  const isPart =
    open !== undefined && batches !== undefined && open.size > batches.length && batches.length >= pageSize;
  const atLeast = (value: number, more: boolean | undefined) => `${compact(value)}${more ? '+' : ''}`;
  const sum = (of: (batch: OpenBatch) => number) =>
    batches === undefined
      ? '–'
      : atLeast(
          batches.reduce((total, batch) => total + of(batch), 0),
          isPart,
        );
  const failed = sum((batch) => batch.request_counts.failed);
  return [
    {
      label: 'Open batches',
      value: open === undefined ? '–' : atLeast(open.size, open.isAtLeast),
      note: batches && `${sum(({ waiting }) => (waiting === null ? 0 : 1))} waiting`,
    },
    {
      label: 'Requests left',
      value: queue
        ? compact(queue.reduce((total, { requests }) => total + requests, 0))
        : sum(({ request_counts: { total, completed, failed: lost } }) => total - completed - lost),
      note: batches && `${failed} failed`,
    },
    { label: 'Running now', value: sum(({ progress }) => progress.running), note: 'requests of batches' },
  ];
}

function queueStats(queue: readonly ModelQueue[] | undefined): Stat[] {
  const rates = queue?.flatMap(({ tokens_per_second: rate, requests }) =>
    rate !== null && requests > 0 ? rate : [],
  );
  const least = queue
    ?.filter(({ slack_seconds: slack }) => slack !== null)
    .toSorted((a, b) => a.slack_seconds! - b.slack_seconds!)[0];
  return [
    {
      label: 'Tokens per second',
      value: rates && rates.length > 0 ? compact(rates.reduce((sum, rate) => sum + rate, 0)) : '–',
      note: 'of models with work',
    },
    {
      label: 'Least slack',
      value: least ? <Slack seconds={least.slack_seconds!} /> : '–',
      note: least ? least.model : queue && 'no work with a known rate',
    },
  ];
}

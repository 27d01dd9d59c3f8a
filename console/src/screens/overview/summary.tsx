import { useQuery } from '@tanstack/react-query';
import { compact, count } from '../../parts/format.ts';
import { type Stat, Stats } from '../../parts/stats.tsx';
import { type ModelQueue, queueQuery } from '../../api/operations.ts';
import { Slack } from './slack.tsx';
import { openBatchesQuery, type OpenBatch } from './queries.ts';

/** The numbers of the moment. Dashes stand for those that are not known yet, so that nothing moves when they come. */
export function Summary({ isAdmin }: { isAdmin: boolean }) {
  const { data: batches } = useQuery(openBatchesQuery(isAdmin));
  const { data: queue } = useQuery({ ...queueQuery, enabled: isAdmin });
  return <Stats stats={[...batchStats(batches), ...(isAdmin ? queueStats(queue) : [])]} />;
}

function batchStats(batches: readonly OpenBatch[] | undefined): Stat[] {
  const sum = (of: (batch: OpenBatch) => number) =>
    batches === undefined ? '–' : compact(batches.reduce((total, batch) => total + of(batch), 0));
  const failed = sum(({ request_counts: counts }) => counts.failed);
  return [
    {
      label: 'Open batches',
      value: batches === undefined ? '–' : count(batches.length),
      note: batches && `${count(batches.filter(({ waiting }) => waiting !== null).length)} waiting`,
    },
    {
      label: 'Requests left',
      value: sum(({ request_counts: { total, completed, failed: lost } }) => total - completed - lost),
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

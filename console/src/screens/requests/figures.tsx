import { compact, count, latency, percent } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { Time } from '../../parts/time.tsx';
import { Stats } from '../../parts/stats.tsx';
import { figuresOf } from './filter.ts';
import type { RecentRequest } from './queries.ts';

/** Figures of the requests that pass the filters. */
export function Figures({ requests }: { requests: readonly RecentRequest[] }) {
  const { failed, median, p95, firstMedian, outputTokens, amount } = figuresOf(requests);
  const oldest = requests.at(-1)?.started_at;
  const timeOf = (ms: number | null) => (ms === null ? '–' : latency(ms));
  return (
    <Stats
      stats={[
        { label: 'Requests', value: count(requests.length), note: oldest && <Since at={oldest} /> },
        { label: 'Failed', value: percent(failed, requests.length), note: count(failed) },
        { label: 'Median time', value: timeOf(median), note: `95th percentile ${timeOf(p95)}` },
        { label: 'Time to first output', value: timeOf(firstMedian), note: 'median' },
        { label: 'Output tokens', value: compact(outputTokens) },
        { label: 'Cost', value: <Money amount={amount} /> },
      ]}
    />
  );
}

function Since({ at }: { at: string }) {
  return (
    <>
      oldest <Time at={at} />
    </>
  );
}

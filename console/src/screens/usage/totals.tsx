import { compact, count, money, percent } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { Stats } from '../../parts/stats.tsx';
import { fromNano, type GroupSum } from './sums.ts';

/** Totals of a number of days. */
export function Totals({ sums, days }: { sums: readonly GroupSum[]; days: number }) {
  const sum = (of: (group: GroupSum) => number) => sums.reduce((total, group) => total + of(group), 0);
  const nano = sum((group) => group.nano);
  const requests = sum((group) => group.requests);
  const input = sum((group) => group.inputTokens);
  const cached = sum((group) => group.cachedTokens);
  const perRequest = requests > 0 ? money(nano / 1e9 / requests) : '–';
  return (
    <Stats
      stats={[
        { label: 'Spend', value: <Money amount={fromNano(nano)} />, note: `in ${count(days)} days` },
        { label: 'Per day', value: money(nano / 1e9 / days), note: 'on average' },
        { label: 'Requests', value: compact(requests), note: `${perRequest} each` },
        { label: 'Input tokens', value: compact(input), note: `${percent(cached, input)} cached` },
        { label: 'Output tokens', value: compact(sum((group) => group.outputTokens)) },
      ]}
    />
  );
}

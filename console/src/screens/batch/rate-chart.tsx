import { useMemo, useState } from 'react';
import uPlot from 'uplot';
import { Button } from '../../parts/button.tsx';
import { Chart } from '../../parts/chart.tsx';
import { compact, exactTime } from '../../parts/format.ts';
import { axisStyle, colourOf, usePlot } from '../../parts/use-plot.ts';
import { averageOf, partOf, type Rates } from './rates.ts';
import { timeLabels } from './time-labels.ts';

/** Requests done and failed a minute, over time. The legend has the values under the pointer, otherwise those of the whole time. */
export function RateChart({ rates: all, label }: { rates: Rates; label: string }) {
  const [part, setPart] = useState<readonly [from: number, to: number]>();
  const rates = useMemo(() => (part ? partOf(all, ...part) : all), [all, part]);
  const [index, setIndex] = useState<number | null>(null);
  const data = useMemo(
    (): uPlot.AlignedData => [rates.at, rates.donePerMinute, rates.failedPerMinute],
    [rates],
  );
  const plot = usePlot({
    height: 200,
    options,
    data,
    onHover: setIndex,
    onChoose: (first, last) => first < last && setPart([rates.at[first]!, rates.at[last]!]),
  });
  const value = (values: readonly number[]) =>
    compact(Math.round(10 * (index === null ? averageOf(rates, values) : (values[index] ?? 0))) / 10);
  const at = index === null ? undefined : rates.at[index];
  return (
    <Chart
      plot={plot}
      label={label}
      when={at === undefined ? 'On average' : exactTime(at * 1_000)}
      legend={[
        { id: 'done', label: 'Done per minute', colour: '--fill-done', value: value(rates.donePerMinute) },
        {
          id: 'failed',
          label: 'Failed per minute',
          colour: '--fill-failed',
          value: value(rates.failedPerMinute),
        },
        { id: 'tokens', label: 'Tokens per second', value: value(rates.tokensPerSecond) },
      ]}
      hint={
        part ? (
          <Button kind="quiet" onClick={() => setPart(undefined)}>
            Show the whole time
          </Button>
        ) : (
          'Draw over the curve to choose a time'
        )
      }
      points={{
        names: ['Done per minute', 'Failed per minute', 'Tokens per second'],
        rows: () => rowsOf(rates),
      }}
    />
  );
}

function rowsOf({ at, donePerMinute, failedPerMinute, tokensPerSecond }: Rates) {
  return at.map((seconds, n) => ({
    at: exactTime(seconds * 1_000),
    values: [donePerMinute, failedPerMinute, tokensPerSecond].map((values) =>
      compact(Math.round(10 * values[n]!) / 10),
    ),
  }));
}

function options(element: HTMLElement): Omit<uPlot.Options, 'width' | 'height'> {
  const axis = axisStyle(element);
  // A point has the rate of the time before it.
  const paths = uPlot.paths.stepped!({ align: -1 });
  const done = colourOf(element, '--fill-done');
  const series = { width: 1.5, points: { show: false }, paths };
  return {
    padding: [12, 16, 0, 0],
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, splits) => timeLabels(splits) },
      { ...axis, size: 56, values: (_, splits) => splits.map((split) => compact(split)) },
    ],
    series: [
      {},
      {
        ...series,
        stroke: done,
        fill: `color-mix(in srgb, ${done} 14%, transparent)`,
      },
      { ...series, stroke: colourOf(element, '--fill-failed'), dash: [6, 3] },
    ],
  };
}

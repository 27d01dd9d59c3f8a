import { useCallback, useMemo, useState } from 'react';
import uPlot from 'uplot';
import { Chart } from './chart.tsx';
import { axisStyle, colourOf, usePlot } from './use-plot.ts';

/** Series with colours of their own; one more is for all others. */
export const maxSeries = 7;

interface BarSeries {
  id: string;
  label: string;
  /** One for each day. */
  values: readonly number[];
}

interface StackedBarsProps {
  /** Content of the chart, for screen readers. */
  label: string;
  /** UTC days, such as `2026-11-28`, without gaps. */
  days: readonly string[];
  /** At most `maxSeries`, from the bottom to the top; the id `others` has the colour of all others. */
  series: readonly BarSeries[];
  format: (value: number) => string;
  /** Called with the days that the reader chooses. */
  onChoose: (first: string, last: string) => void;
}

/** A bar for each day, divided by series. The legend shows the values of the day under the pointer, otherwise the totals. */
export function StackedBars({ label, days, series, format, onChoose }: StackedBarsProps) {
  const [day, setDay] = useState<number | null>(null);
  const data = useMemo(() => dataOf(days, series), [days, series]);
  const options = useCallback((element: HTMLElement) => optionsOf(element, series, format), [series, format]);
  const plot = usePlot({
    height: 220,
    options,
    data,
    onHover: setDay,
    onChoose: (first, last) => onChoose(days[first]!, days[last]!),
  });
  const valueOf = ({ values }: BarSeries) =>
    day === null ? values.reduce((sum, value) => sum + value, 0) : (values[day] ?? 0);
  return (
    <Chart
      plot={plot}
      label={label}
      when={(day === null ? undefined : days[day]) ?? 'In total'}
      legend={series.map((each, index) => ({
        id: each.id,
        label: each.label,
        colour: colourName(each, index),
        value: format(valueOf(each)),
      }))}
      hint="Draw over the bars to choose days"
      points={{
        names: series.map((each) => each.label),
        rows: () => days.map((at, n) => ({ at, values: series.map(({ values }) => format(values[n] ?? 0)) })),
      }}
    />
  );
}

function colourName({ id }: BarSeries, index: number): string {
  return id === 'others' ? '--series-rest' : `--series-${index + 1}`;
}

/** Sums of a series and those below it. The highest are drawn first, and covered by the lower ones. */
function dataOf(days: readonly string[], series: readonly BarSeries[]): uPlot.AlignedData {
  const sums: number[][] = [];
  for (const { values } of series)
    sums.push(values.map((value, index) => value + (sums.at(-1)?.[index] ?? 0)));
  return [days.map((day) => Date.parse(day) / 1_000), ...sums.toReversed()];
}

function optionsOf(
  element: HTMLElement,
  series: readonly BarSeries[],
  format: (value: number) => string,
): Omit<uPlot.Options, 'width' | 'height'> {
  const axis = axisStyle(element);
  const bars = uPlot.paths.bars!({ size: [0.72, 48] });
  const day = 86_400;
  return {
    padding: [12, 8, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    scales: {
      x: { range: (_, min, max) => [min - day / 2, max + day / 2] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        incrs: [1, 2, 4, 7, 14, 28, 56].map((days) => days * day),
        values: (_, splits) => splits.map(dayLabel),
      },
      { ...axis, size: 64, values: (_, splits) => splits.map((value) => format(value)) },
    ],
    series: [
      {},
      ...series
        .map((each, index) => ({
          label: each.label,
          fill: colourOf(element, colourName(each, index)),
          width: 0,
          paths: bars,
          points: { show: false },
        }))
        .toReversed(),
    ],
  };
}

const shortDay = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

function dayLabel(seconds: number): string {
  return shortDay.format(seconds * 1_000);
}

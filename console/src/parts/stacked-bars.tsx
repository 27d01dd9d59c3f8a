import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import css from './stacked-bars.module.css';

/** Series with colours of their own; one more is for all others. */
export const maxSeries = 7;

interface BarSeries {
  id: string;
  label: string;
  /** One for each day. */
  values: readonly number[];
}

interface StackedBarsProps {
  /** Content of the chart, for screen readers; a table must have the numbers. */
  label: string;
  /** UTC days, such as `2026-11-28`, without gaps. */
  days: readonly string[];
  /** At most `maxSeries`, from the bottom to the top; the id `others` has the colour of all others. */
  series: readonly BarSeries[];
  format: (value: number) => string;
}

/** A bar for each day, divided by series. The legend shows the values of the day under the pointer, otherwise the totals. */
export function StackedBars(props: StackedBarsProps) {
  // A canvas does not follow the theme: another one is drawn.
  return <Chart key={useDark() ? 'dark' : 'light'} {...props} />;
}

function Chart({ label, days, series, format }: StackedBarsProps) {
  const plot = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const [day, setDay] = useState<number | null>(null);

  useEffect(() => {
    const element = plot.current!;
    const colors = [...legend.current!.querySelectorAll('[data-series]')].map(
      (swatch) => getComputedStyle(swatch).backgroundColor,
    );
    const options = { ...optionsOf(element, series, colors, format), width: element.clientWidth };
    const chart = new uPlot(
      { ...options, hooks: { setCursor: [({ cursor }) => setDay(cursor.idx ?? null)] } },
      dataOf(days, series),
      element,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [days, series, format]);

  const valueOf = ({ values }: BarSeries) =>
    day === null ? values.reduce((sum, value) => sum + value, 0) : (values[day] ?? 0);
  return (
    <figure className={css.chart}>
      <div ref={plot} role="img" aria-label={label} className={css.plot} />
      <ul ref={legend} className={css.legend}>
        <li className={css.when}>{(day === null ? undefined : days[day]) ?? 'In total'}</li>
        {series.map((each, index) => (
          <li key={each.id}>
            <span className={css.swatch} data-series={each.id === 'others' ? 'rest' : index} />
            <span className={css.name} title={each.label}>
              {each.label}
            </span>
            <span className={css.value}>{format(valueOf(each))}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** Pixels, as in the style sheet. */
const height = 220;

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
  colors: readonly string[],
  format: (value: number) => string,
): uPlot.Options {
  const { color, borderColor, fontFamily } = getComputedStyle(element);
  const font = `12px ${fontFamily}`;
  const axis = { stroke: color, font, ticks: { show: false }, grid: { stroke: borderColor, width: 1 } };
  const bars = uPlot.paths.bars!({ size: [0.72, 48] });
  const halfDay = 43_200;
  return {
    width: 0,
    height,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    scales: {
      x: { range: (_, min, max) => [min - halfDay, max + halfDay] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, splits) => splits.map(dayLabel) },
      { ...axis, size: 64, values: (_, splits) => splits.map((value) => format(value)) },
    ],
    series: [
      {},
      ...series
        .map(({ label }, index) => ({
          label,
          fill: colors[index]!,
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

/** True in the dark theme. */
function useDark(): boolean {
  return useSyncExternalStore(
    (listener) => {
      darkQuery.addEventListener('change', listener);
      return () => darkQuery.removeEventListener('change', listener);
    },
    () => darkQuery.matches,
  );
}

const darkQuery = matchMedia('(prefers-color-scheme: dark)');

import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { compact } from '../../parts/format.ts';
import css from './batch.module.css';
import type { Rates } from './rates.ts';

const height = 200;

/** Curves of done and failed lines a minute, and tokens a second. The table of the history has the same numbers as text. */
export function RateChart({ rates, label }: { rates: Rates; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);

  useEffect(() => {
    const element = box.current!;
    const draw = () => {
      const plot = new UPlot(optionsFor(element), [[], [], [], []], element);
      chart.current = plot;
      return plot;
    };
    draw();
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.current?.destroy();
    };
  }, []);

  useEffect(() => {
    const { at, donePerMinute, failedPerMinute, tokensPerSecond } = rates;
    chart.current?.setData([at, donePerMinute, failedPerMinute, tokensPerSecond]);
  }, [rates]);

  return <div ref={box} className={css.chart} role="img" aria-label={label} />;
}

function optionsFor(element: HTMLElement): UPlot.Options {
  const style = getComputedStyle(element);
  // Custom properties keep `light-dark()`: a probe resolves it.
  const colour = (name: string) => {
    const probe = document.createElement('i');
    probe.style.color = `var(${name})`;
    element.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  const [text, line] = [colour('--text-quiet'), colour('--line')];
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const points = { show: false };
  const value = (_: UPlot, raw: number | null) => (raw === null ? '–' : compact(Math.round(raw * 10) / 10));
  return {
    width: element.clientWidth,
    height,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: {
      tokens: { range: (_, __, max) => [0, Math.max(1, max)] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      axis,
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => compact(tick)) },
      {
        ...axis,
        scale: 'tokens',
        side: 1,
        size: 56,
        grid: { show: false },
        values: (_, ticks) => ticks.map((tick) => compact(tick)),
      },
    ],
    series: [
      { label: 'Time' },
      { label: 'Done / min', stroke: colour('--fill-done'), width: 2, points, value },
      { label: 'Failed / min', stroke: colour('--fill-failed'), width: 2, dash: [6, 3], points, value },
      {
        label: 'Tokens / s',
        scale: 'tokens',
        stroke: colour('--fill-running'),
        width: 1,
        dash: [2, 3],
        value,
      },
    ],
  };
}

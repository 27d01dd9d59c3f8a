import { type RefObject, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { addBrush } from './brush.ts';
import { useMedia } from './use-media.ts';

interface PlotOptions {
  /** Pixels. */
  height: number;
  /** Stable between renders while the chart stays the same. Called with the element, whose styles have the colours. */
  options: (element: HTMLElement) => Omit<uPlot.Options, 'width' | 'height'>;
  data: uPlot.AlignedData;
  /** Called with the place in the data under the pointer; null without one. */
  onHover: (index: number | null) => void;
  /** Called with the first and the last place of a part that the reader chooses. */
  onChoose: (first: number, last: number) => void;
}

const noEvent = () => null;

/** Draws a chart into an element. It follows the width of the element, and the theme of the page: a canvas does not by itself. */
export function usePlot({
  height,
  options,
  data,
  onHover,
  onChoose,
}: PlotOptions): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const latest = useRef({ data, onHover, onChoose });
  const isDark = useMedia('(prefers-color-scheme: dark)');
  useEffect(() => {
    latest.current = { data, onHover, onChoose };
  });

  useEffect(() => {
    const element = box.current!;
    // The colours below are those of the theme.
    element.dataset['theme'] = isDark ? 'dark' : 'light';
    const show = (index: number | null) => {
      element.ariaValueNow = `${index ?? 0}`;
      latest.current.onHover(index);
    };
    const plot = new uPlot(
      {
        ...options(element),
        width: element.clientWidth,
        height,
        legend: { show: false },
        // The brush has these events.
        cursor: {
          y: false,
          points: { show: false },
          bind: { mousedown: noEvent, mouseup: noEvent, dblclick: noEvent },
        },
        hooks: { setCursor: [({ cursor }) => show(cursor.idx ?? null)] },
      },
      latest.current.data,
      element,
    );
    chart.current = plot;
    const endBrush = addBrush(plot, element, (first, last) => latest.current.onChoose(first, last));
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      endBrush();
      plot.destroy();
    };
  }, [height, options, isDark]);

  useEffect(() => {
    chart.current?.setData(data);
    box.current!.ariaValueMax = `${Math.max(0, data[0].length - 1)}`;
  }, [data]);
  return box;
}

/** Style of the axes: their text has the colour of the element, and the grid that of its border. */
export function axisStyle(element: HTMLElement): uPlot.Axis {
  const { color, borderColor, fontFamily } = getComputedStyle(element);
  return {
    stroke: color,
    font: `12px ${fontFamily}`,
    ticks: { show: false },
    grid: { stroke: borderColor, width: 1 },
  };
}

/** Value of a colour of the style sheet, for a canvas. Custom properties keep `light-dark()`: a probe resolves it. */
export function colourOf(element: HTMLElement, property: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${property})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

import { type RefObject, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useMedia } from './use-media.ts';

interface PlotOptions {
  /** Pixels. */
  height: number;
  /** Stable between renders while the chart stays the same. Called with the element, whose styles have the colours. */
  options: (element: HTMLElement) => Omit<uPlot.Options, 'width' | 'height'>;
  data: uPlot.AlignedData;
  /** Called with the place in the data under the pointer; null without one. */
  onHover: (index: number | null) => void;
  /** Called with the first and the last place of a part that the pointer is drawn over. */
  onChoose: (first: number, last: number) => void;
}

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
    const plot = new uPlot(
      {
        ...options(element),
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
        hooks: {
          setCursor: [({ cursor }) => latest.current.onHover(cursor.idx ?? null)],
          setSelect: [(plotted) => choose(plotted, latest.current.onChoose)],
        },
      },
      latest.current.data,
      element,
    );
    chart.current = plot;
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [height, options, isDark]);

  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);
  return box;
}

/** Reports the part that was selected, and removes its frame. */
function choose(plot: uPlot, onChoose: PlotOptions['onChoose']): void {
  const { left, width } = plot.select;
  if (width <= 0) return;
  const places = [plot.posToIdx(left), plot.posToIdx(left + width)] as const;
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  onChoose(...places);
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

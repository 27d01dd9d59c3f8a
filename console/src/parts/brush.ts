import type uPlot from 'uplot';

/** Pixels that a pointer moves before it draws: less is a click. */
const minMove = 4;

/**
 * Chooses a part of a chart: with a mouse, a pen or a finger that draws over it, or by keys. Arrow keys move along the points,
 * with Shift they mark the part, Enter chooses it and Escape drops it.
 * @param element has the focus
 * @returns a function that ends it
 */
export function addBrush(
  plot: uPlot,
  element: HTMLElement,
  onChoose: (first: number, last: number) => void,
): () => void {
  const { over } = plot;
  // Places in the data where the part begins and ends, and the pixel where the pointer went down.
  let from: number | undefined;
  let to: number | undefined;
  let down: number | undefined;

  function show(index: number): void {
    to = index;
    const at = (place: number) => plot.valToPos(plot.data[0][place]!, 'x');
    plot.setCursor({ left: at(index), top: 0 });
    const [left, right] = [at(from ?? index), at(index)].toSorted((a, b) => a - b) as [number, number];
    plot.setSelect({ left, width: right - left, top: 0, height: over.clientHeight }, false);
  }
  function drop(): void {
    from = to = down = undefined;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }
  function choose(): void {
    const [first, last] = [from, to];
    drop();
    if (first !== undefined && last !== undefined) onChoose(Math.min(first, last), Math.max(first, last));
  }

  over.addEventListener('pointerdown', ({ isPrimary, button, offsetX, pointerId }) => {
    if (!isPrimary || button !== 0) return;
    drop();
    down = offsetX;
    over.setPointerCapture(pointerId);
  });
  over.addEventListener('pointermove', ({ offsetX }) => {
    if (down === undefined || (from === undefined && Math.abs(offsetX - down) < minMove)) return;
    from ??= plot.posToIdx(down);
    show(plot.posToIdx(offsetX));
  });
  over.addEventListener('pointerup', choose);
  // A finger that moves up or down scrolls the page.
  over.addEventListener('pointercancel', drop);

  // The element outlives the chart.
  const ended = new AbortController();
  const onKey = (event: KeyboardEvent) => {
    const last = plot.data[0].length - 1;
    const at = plot.cursor.idx ?? undefined;
    const moves: Record<string, number> = {
      ArrowLeft: at === undefined ? last : Math.max(0, at - 1),
      ArrowRight: at === undefined ? 0 : Math.min(last, at + 1),
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next !== undefined && last >= 0) {
      from = event.shiftKey ? (from ?? at ?? next) : undefined;
      show(next);
    } else if (event.key === 'Enter') choose();
    else if (event.key === 'Escape') drop();
    else return;
    event.preventDefault();
  };
  const onBlur = () => {
    drop();
    plot.setCursor({ left: -10, top: -10 });
  };
  element.addEventListener('keydown', onKey, ended);
  element.addEventListener('blur', onBlur, ended);
  return () => ended.abort();
}

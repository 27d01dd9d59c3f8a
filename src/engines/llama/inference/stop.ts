/** Cuts a text at the first stop string, wherever the pieces it comes in are cut. */
export interface StopFilter {
  push(text: string): { text: string; isStopped: boolean };
  /** What was held back because a stop string might have followed. */
  end(): string;
}

export function createStopFilter(stops: readonly string[]): StopFilter {
  let held = '';
  return {
    push(text) {
      held += text;
      const cut = firstStop(held, stops);
      if (cut !== undefined) {
        const before = held.slice(0, cut);
        held = '';
        return { text: before, isStopped: true };
      }
      const safe = held.length - possibleStart(held, stops);
      const certain = held.slice(0, safe);
      held = held.slice(safe);
      return { text: certain, isStopped: false };
    },
    end() {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

function firstStop(text: string, stops: readonly string[]): number | undefined {
  const positions = stops.map((stop) => text.indexOf(stop)).filter((position) => position !== -1);
  return positions.length > 0 ? Math.min(...positions) : undefined;
}

/** Length of the longest end of `text` with which one of `markers` may be beginning. */
export function possibleStart(text: string, markers: readonly string[]): number {
  let longest = 0;
  for (const marker of markers) {
    for (let length = Math.min(marker.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(marker.slice(0, length))) longest = length;
    }
  }
  return longest;
}

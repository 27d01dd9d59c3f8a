/** Cuts a text at the first stop string, wherever the pieces it comes in are cut. */
export function createStopFilter(stops: readonly string[]) {
  let held = '';
  return {
    /** `stop` is the stop string that was met. */
    push(text: string): { text: string; stop: string | undefined } {
      held += text;
      const met = firstOf(stops, held);
      if (met) {
        const before = held.slice(0, met.at);
        held = '';
        return { text: before, stop: met.mark };
      }
      const safe = held.length - possibleStart(held, stops);
      const certain = held.slice(0, safe);
      held = held.slice(safe);
      return { text: certain, stop: undefined };
    },
    /** What was held back because a stop string might have followed. */
    end(): string {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

/** The mark that comes first in a text, and where. */
export function firstOf(marks: readonly string[], text: string): { mark: string; at: number } | undefined {
  return marks
    .map((mark) => ({ mark, at: text.indexOf(mark) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0];
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

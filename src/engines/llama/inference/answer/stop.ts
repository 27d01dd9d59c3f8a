import { possibleStart } from '../../../../base/possible-start.ts';

/** Cuts a text at the first stop string, also across pieces. */
export function createStopFilter(stops: readonly string[]) {
  let held = '';
  return {
    /** Returns the text that is certain, and the stop string if it ends there. */
    push(text: string): { text: string; stop: string | undefined } {
      held += text;
      const met = findFirst(stops, held);
      const safe = met?.at ?? held.length - possibleStart(held, stops);
      const certain = held.slice(0, safe);
      held = met ? '' : held.slice(safe);
      return { text: certain, stop: met?.mark };
    },
    /** Returns text that was held back as the start of a stop string. */
    end(): string {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

/** First of `marks` in a text, with its position. */
export function findFirst(marks: readonly string[], text: string): { mark: string; at: number } | undefined {
  return marks
    .map((mark) => ({ mark, at: text.indexOf(mark) }))
    .filter(({ at }) => at !== -1)
    .toSorted((a, b) => a.at - b.at)[0];
}

/** What a sequence of the context holds, as far as choosing one goes. */
export interface SlotView {
  /** The tokens evaluated in it. */
  tokens: readonly number[];
  /** The prefix name of the request that used it last; empty when it had none. */
  prefix: string;
  /** Grows with every use. */
  lastUsed: number;
}

/** A shorter common start is only the template's header: it saves less than keeping another slot's long prefix. */
const worthwhileShare = 0.1;

/**
 * The free slot to run `prompt` in: the one with the longest common start when that is a tenth of the prompt or more,
 * else one that served the same prefix name, else the one unused for longest.
 */
export function chooseSlot<S extends SlotView>(
  free: readonly S[],
  prompt: readonly number[],
  prefix: string,
): S {
  const [best] = free
    .map((slot) => ({ slot, common: commonLength(slot.tokens, prompt) }))
    // Of two that match alike, the one that would lose less.
    .toSorted((a, b) => b.common - a.common || a.slot.tokens.length - b.slot.tokens.length);
  if (best!.common >= Math.max(1, prompt.length * worthwhileShare)) return best!.slot;
  const related = prefix === '' ? [] : free.filter((slot) => slot.prefix === prefix);
  return (related.length > 0 ? related : free).reduce((a, b) => (b.lastUsed < a.lastUsed ? b : a));
}

/** How many tokens two sequences begin with in common. */
export function commonLength(a: readonly number[], b: readonly number[]): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

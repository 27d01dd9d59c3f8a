/** State of a sequence that the choice depends on. */
export interface SlotView {
  /** Tokens in its cache. */
  tokens: readonly number[];
  /** Prefix name of its last request; empty if none. */
  prefix: string;
  /** Grows with every use. */
  lastUsed: number;
}

/** Minimum common start, as a share of the prompt: a shorter one is only the header of the template. */
const minCommonShare = 0.1;

/**
 * Slot for `prompt`: the one with the longest common start if that is a tenth of the prompt or more, else one with the same
 * prefix name, else the least recently used one.
 */
export function chooseSlot<S extends SlotView>(
  free: readonly S[],
  prompt: readonly number[],
  prefix: string,
): S {
  const [best] = free
    .map((slot) => ({ slot, common: commonLength(slot.tokens, prompt) }))
    // Between equal ones, the slot that loses fewer tokens.
    .toSorted((a, b) => b.common - a.common || a.slot.tokens.length - b.slot.tokens.length);
  if (best!.common >= Math.max(1, prompt.length * minCommonShare)) return best!.slot;
  const related = prefix === '' ? [] : free.filter((slot) => slot.prefix === prefix);
  return (related.length > 0 ? related : free).reduce((a, b) => (b.lastUsed < a.lastUsed ? b : a));
}

/** Number of tokens at the start that two sequences share. */
export function commonLength(a: readonly number[], b: readonly number[]): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

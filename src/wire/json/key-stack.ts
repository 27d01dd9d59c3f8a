import { parseOrUndefined, stringOr } from '../../base/fields.ts';

/** Number of keys at which a set is faster than comparing with each. */
const setThreshold = 16;
/** Limits the memory of one object's set of keys. */
const maxKeys = 200_000;

/**
 * Keys of the open objects, to find duplicates. Most objects have few keys, and most keys differ in length, first or last
 * character, so comparing those avoids allocating strings.
 */
export class KeyStack {
  readonly #text: string;
  /** Keys of all open objects, innermost last: where they start, and a signature of length and two characters. */
  readonly #starts: number[] = [];
  readonly #signatures: number[] = [];
  #count = 0;
  /** Start of the keys of each depth in the lists. */
  readonly #bases: number[] = [0];
  #base = 0;
  #depth = 0;
  /** All keys of a depth as text, once there are many or one is escaped. */
  readonly #sets: (Set<string> | undefined)[] = [];
  tooMany = false;

  constructor(text: string) {
    this.#text = text;
  }

  open(depth: number): void {
    this.#depth = depth;
    this.#base = this.#count;
    this.#bases[depth] = this.#base;
    this.#sets[depth] = undefined;
  }

  /** @param depth of the object that is now the innermost */
  close(depth: number): void {
    this.#count = this.#base;
    this.#depth = depth;
    this.#base = this.#bases[depth]!;
  }

  /** Adds the key at `[start, end)`; false for a duplicate. */
  add(start: number, end: number, escaped: boolean): boolean {
    const set = this.#sets[this.#depth];
    if (set !== undefined || escaped || this.#count - this.#base >= setThreshold)
      return this.#addText(set ?? this.#toSet(), keyText(this.#text, start, end));
    const length = end - start;
    const edges = (this.#text.charCodeAt(start) << 8) ^ this.#text.charCodeAt(end - 1);
    const signature = (length << 16) ^ edges;
    for (let at = this.#base; at < this.#count; at += 1)
      if (this.#signatures[at] === signature && this.#isAt(this.#starts[at]!, start, length)) return false;
    this.#starts[this.#count] = start;
    this.#signatures[this.#count] = signature;
    this.#count += 1;
    return true;
  }

  #isAt(one: number, other: number, length: number): boolean {
    return this.#text.slice(one, one + length) === this.#text.slice(other, other + length);
  }

  #addText(set: Set<string>, key: string): boolean {
    if (set.has(key)) return false;
    set.add(key);
    this.tooMany = set.size > maxKeys;
    return true;
  }

  /** Converts the listed keys, none of which is escaped. */
  #toSet(): Set<string> {
    const set = new Set<string>();
    for (let at = this.#base; at < this.#count; at += 1) {
      const start = this.#starts[at]!;
      set.add(this.#text.slice(start, this.#text.indexOf('"', start)));
    }
    this.#sets[this.#depth] = set;
    return set;
  }
}

/** Unescapes a key: `"\u0061"` is the same key as `"a"`. */
export function keyText(text: string, start: number, end: number): string {
  const raw = text.slice(start, end);
  return raw.includes('\\') ? stringOr(parseOrUndefined(`"${raw}"`), raw) : raw;
}

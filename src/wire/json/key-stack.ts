import { parseOrUndefined, stringOr } from '../../base/fields.ts';

/** From this many keys on, a set is quicker than comparing with each. */
const listed = 16;
/** No honest object has more keys, and the set of them is memory. */
const most = 200_000;

/**
 * The keys of the objects that are open, to find one that stands twice. Most objects have few keys, and most keys differ
 * in length, first or last character: those are told apart without making a string of either.
 */
export class KeyStack {
  readonly #text: string;
  /** Keys of all open objects, innermost last: where they start, and a signature of length and two characters. */
  readonly #starts: number[] = [];
  readonly #signatures: number[] = [];
  #count = 0;
  /** By depth: where its keys begin in the lists. */
  readonly #bases: number[] = [0];
  #base = 0;
  #depth = 0;
  /** By depth: all keys as text, once there are many or one is escaped. */
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

  /** @param depth that is the innermost now */
  close(depth: number): void {
    this.#count = this.#base;
    this.#depth = depth;
    this.#base = this.#bases[depth]!;
  }

  /** Takes the key at `[start, end)`; false when it was there. */
  add(start: number, end: number, escaped: boolean): boolean {
    const set = this.#sets[this.#depth];
    if (set !== undefined || escaped || this.#count - this.#base >= listed)
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
    this.tooMany = set.size > most;
    return true;
  }

  /** None of the keys listed so far is escaped. */
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

/** An escaped key is the same key: `"\u0061"` twins `"a"`. */
export function keyText(text: string, start: number, end: number): string {
  const raw = text.slice(start, end);
  return raw.includes('\\') ? stringOr(parseOrUndefined(`"${raw}"`), raw) : raw;
}

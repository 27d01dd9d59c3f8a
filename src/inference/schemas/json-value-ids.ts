/**
 * Numbers for JSON values, of which equal values share one: the order of members does not matter, and 1 and 1.0 are equal.
 * The number of a list or an object is found by those of its parts, so that each value is looked at once, however often it
 * is compared.
 */
export class JsonValueIds {
  #numbers = new Map<unknown, number>();
  /** Of lists and objects: those inside others are not looked at again. */
  #seen = new WeakMap<object, number>();

  /** The number of a value, a new one if need be. */
  idOf(value: unknown): number {
    if (!isPlural(value)) return this.#assigned(keyOf(value));
    let number = this.#seen.get(value);
    if (number === undefined) {
      const key = keyOfParts(value, (part) => this.idOf(part));
      this.#seen.set(value, (number = this.#assigned(key!)));
    }
    return number;
  }

  /** The number of a value that was given one; nothing is kept of others. */
  find(value: unknown): number | undefined {
    const key = isPlural(value) ? keyOfParts(value, (part) => this.find(part)) : keyOf(value);
    return key === undefined ? undefined : this.#numbers.get(key);
  }

  clear(): void {
    if (this.#numbers.size === 0) return;
    this.#numbers.clear();
    this.#seen = new WeakMap();
  }

  #assigned(key: unknown): number {
    let number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, (number = this.#numbers.size));
    return number;
  }
}

/** A list or an object. */
function isPlural(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** What tells texts apart from the keys of lists and objects, and from numbers. */
function keyOf(value: unknown): unknown {
  return typeof value === 'string' ? `"${value}` : value;
}

/** Undefined when one of the parts has no number. */
function keyOfParts(value: object, numberOf: (part: unknown) => number | undefined): string | undefined {
  const parts: string[] = [];
  const isList = Array.isArray(value);
  for (const [name, part] of Object.entries(value)) {
    const number = numberOf(part);
    const before = isList ? '' : numberOf(name);
    if (number === undefined || before === undefined) return undefined;
    parts.push(`${before}:${number}`);
  }
  return isList ? `[${parts.join(',')}` : `{${parts.toSorted().join(',')}`;
}

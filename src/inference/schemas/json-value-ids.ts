/**
 * Ids of JSON values, shared by equal values: member order does not matter, and 1 equals 1.0. The id of a list or object derives
 * from those of its parts, so that each value is visited once, however often it is compared.
 */
export class JsonValueIds {
  #numbers = new Map<unknown, number>();
  /** Ids of lists and objects, which are not visited again inside others. */
  #seen = new WeakMap<object, number>();

  /** Id of a value, new if necessary. */
  idOf(value: unknown): number {
    if (!isPlural(value)) return this.#assigned(keyOf(value));
    let number = this.#seen.get(value);
    if (number === undefined) {
      const key = keyOfParts(value, (part) => this.idOf(part));
      this.#seen.set(value, (number = this.#assigned(key!)));
    }
    return number;
  }

  /** Id of a value that has one. */
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

function isPlural(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Distinguishes strings from the keys of lists and objects. */
function keyOf(value: unknown): unknown {
  return typeof value === 'string' ? `"${value}` : value;
}

/** Key of a list or object; undefined if a part has no id. */
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

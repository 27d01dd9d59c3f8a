/** Object of unknown content. */
export type Fields = Record<string, unknown>;

/** The value, or an empty object if it is not an object. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Copy without the members that are null or undefined. */
export function omitNullish<T extends object>(given: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const found: { [K in keyof T]?: T[K] } = {};
  for (const name in given) if (given[name] !== undefined && given[name] !== null) found[name] = given[name];
  return found as { [K in keyof T]?: NonNullable<T[K]> };
}

/** Treats an empty text as absent. */
export function presence(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

export function stringOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

/** Parses JSON; undefined for invalid JSON. */
export function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

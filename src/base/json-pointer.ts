import { isObject } from './fields.ts';

/** Value at `reference` (`#` or `#/...`) in `root`; undefined if `root` lacks it. */
export function resolvePointer(root: unknown, reference: string): unknown {
  let at: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const name = unescapePointerPart(part);
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isObject(at)) at = ownField(at, name);
    else return undefined;
  }
  return at;
}

/** Percent-decodes a reference for `resolvePointer`. */
export function decodeReference(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

/** Own field by any name, `constructor` and `__proto__` included. */
export function ownField(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export const escapePointerPart = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
export const unescapePointerPart = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');

import { isObject } from './fields.ts';

/** What `reference` (`#` or `#/...`) points to in `root`; undefined when there is nothing. */
export function pointedAt(root: unknown, reference: string): unknown {
  let at: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const name = unescaped(part);
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isObject(at)) at = own(at, name);
    else return undefined;
  }
  return at;
}

/** A reference with its percent signs decoded, as `pointedAt` takes it. */
export function plainReference(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

/** A field by any name, `constructor` and `__proto__` included. */
export function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
export const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');

/** Longer values are cut. */
export const maxTagLength = 64;

/** Metadata member whose value is the tag, by default. */
export const defaultTagName = 'tag';

/** Value of the member `name` of a metadata object, by which its usage is grouped; empty without one. */
export function tagOf(metadata: unknown, name: string): string {
  if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, name)) return '';
  const value: unknown = (metadata as Record<string, unknown>)[name];
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  // No database stores a NUL or half of a surrogate pair.
  return String(value)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, maxTagLength)
    .toWellFormed();
}

/** As `tagOf`, for metadata as JSON text. */
export function tagOfText(metadata: string | undefined, name: string): string {
  return metadata?.includes(JSON.stringify(name)) ? tagOf(JSON.parse(metadata), name) : '';
}

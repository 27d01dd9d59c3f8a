import type { Batch } from './batch.ts';

type Named = Pick<Batch, 'inputName' | 'metadata'>;

/** Characters of a batch that a search looks through. */
const maxText = 4_096;
/** Bounds of a search. */
export const searchLimits = { length: 200, words: 8 } as const;

/** Name of a batch for people: the `name` of its metadata, else the file name of its input; null without either. */
export function batchName({ inputName, metadata }: Named): string | null {
  // Most metadata has no name and is not parsed.
  const name = metadata?.includes('"name"') ? (parsed(metadata) as { name?: unknown })?.name : undefined;
  return typeof name === 'string' && name !== '' ? name : inputName;
}

/** Text that a search looks through, in lower case: the id, the file name of the input, and the values of the metadata. */
export function searchText({ id, inputName, metadata }: Named & Pick<Batch, 'id'>): string {
  const texts = [id, inputName ?? '', ...valuesOf(metadata === null ? null : parsed(metadata))];
  return folded(texts.join('\n')).slice(0, maxText);
}

/** Words of a search, in lower case. A batch is found if its text has all of them. */
export function searchWords(text: string): string[] {
  return folded(text)
    .split(/\s+/)
    .filter((word) => word !== '');
}

function folded(text: string): string {
  // Half of a surrogate pair and NUL cannot be stored.
  return text.normalize('NFC').toLowerCase().toWellFormed().replaceAll('\0', '');
}

function valuesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(valuesOf);
  if (typeof value === 'string') return [value];
  return value === null || value === undefined ? [] : [JSON.stringify(value)];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

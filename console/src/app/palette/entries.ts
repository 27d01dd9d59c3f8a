/** Something that the palette can open or do. */
export interface Entry {
  /** Unique. */
  id: string;
  group: 'Screens' | 'Actions' | 'Batches' | 'Orgs';
  label: string;
  /** Smaller text, such as the state of a batch. */
  note?: string;
  run: () => void;
}

/** Entries whose label has every word of a text, in their order. All for an empty text. */
export function matching(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

/** Place of the entry to which a key moves from another, around the ends; undefined for other keys. */
export function moved(key: string, active: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === 'ArrowDown') return (active + 1) % count;
  if (key === 'ArrowUp') return (active + count - 1) % count;
  return undefined;
}

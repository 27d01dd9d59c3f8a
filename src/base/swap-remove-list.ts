/** Entry of an unordered list. */
export interface ListEntry {
  /** Current position, maintained by the list. */
  index: number;
}

/**
 * Appends to a list whose entries come and go by the thousand. A `Set` or `Map` would rebuild its table again and again, and an old
 * table in the old generation keeps alive every entry that came and went since.
 */
export function addEntry<T extends ListEntry>(list: T[], one: T): void {
  one.index = list.push(one) - 1;
}

/** Removes an entry; the last one takes its position. False if it is not in the list. */
export function removeEntry<T extends ListEntry>(list: T[], one: T): boolean {
  if (list[one.index] !== one) return false;
  const last = list.pop()!;
  if (last === one) return true;
  list[one.index] = last;
  last.index = one.index;
  return true;
}

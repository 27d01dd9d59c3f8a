/** Something in an unordered list. */
export interface ListEntry {
  /** Its index there. */
  index: number;
}

/**
 * A list of what comes and goes by the thousand. A `Set` or a `Map` of that is made anew again and again, and what it was before
 * points to what it is next: one that the garbage collector holds for old keeps all that came and went since.
 */
export function addEntry<T extends ListEntry>(list: T[], one: T): void {
  one.index = list.push(one) - 1;
}

/**
 * Takes `one` out of the list; another takes its place.
 * @returns whether it was there
 */
export function removeEntry<T extends ListEntry>(list: T[], one: T): boolean {
  if (list[one.index] !== one) return false;
  const last = list.pop()!;
  if (last === one) return true;
  list[one.index] = last;
  last.index = one.index;
  return true;
}

import type { Where } from '../table.ts';

/** Condition on keys: those of a family. */
export function familyMembers(family: string): Where {
  return { '(id = ? OR family = ?)': [family, family] };
}

import { editMembers } from './edit-members.ts';
import { scanJson } from './scan.ts';

/** Allowed content of a JSON value: anything, or objects with these members, and lists of such objects. */
export type Shape = 'anything' | Members;
export type Members = ReadonlyMap<string, Shape>;

/** True if the value contains an object with a member that the shape does not name. */
export function hasOtherMembers(value: unknown, shape: Shape): boolean {
  if (shape === 'anything' || typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => hasOtherMembers(item, shape));
  const members = value as Record<string, unknown>;
  for (const name in members) {
    const inner = shape.get(name);
    if (inner === undefined || hasOtherMembers(members[name], inner)) return true;
  }
  return false;
}

/**
 * Removes the members that the shape does not name, at any depth; every other byte stays as it was.
 * @param value parsed from the text
 */
export function pickMembers(text: string, value: unknown, shape: Shape): string {
  if (shape === 'anything' || !hasOtherMembers(value, shape)) return text;
  if (Array.isArray(value)) {
    const { elements } = scanJson(text, { maxDepth: Infinity, maxNodes: Infinity });
    const items = elements.map(({ start, end }, at) => pickMembers(text.slice(start, end), value[at], shape));
    return `[${items.join(',')}]`;
  }
  const members = value as Record<string, unknown>;
  const edits = new Map<string, string | null>();
  for (const { name, start, end } of scanJson(text, { maxDepth: Infinity, maxNodes: Infinity }).members) {
    const inner = shape.get(name);
    if (inner === undefined) edits.set(name, null);
    else if (hasOtherMembers(members[name], inner))
      edits.set(name, pickMembers(text.slice(start, end), members[name], inner));
  }
  return editMembers(text, edits);
}

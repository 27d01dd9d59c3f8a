import { editMembers, type Edits } from './edit-members.ts';
import type { JsonBody } from './json-body.ts';

/** Members to set; undefined takes one out. */
export type Changes<T> = { [K in keyof T]?: T[K] | undefined };

/** A body with some of its members changed and every other byte as it was; the same object when there is no change. */
export function editBody<T extends Record<string, unknown>>(
  body: JsonBody<T>,
  changes: Changes<T>,
): JsonBody<T> {
  const value: Record<string, unknown> = { ...body.value };
  const edits: Edits = new Map();
  for (const [name, change] of Object.entries(changes)) {
    if (change === value[name]) continue;
    edits.set(name, change === undefined ? null : JSON.stringify(change));
    if (change === undefined) delete value[name];
    else value[name] = change;
  }
  if (edits.size === 0) return body;
  return { value: value as T, text: editMembers(body.text, edits, body.scan) };
}

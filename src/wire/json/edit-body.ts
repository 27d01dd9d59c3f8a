import { editMembers, type Edits } from './edit-members.ts';
import { type JsonBody, builtBody } from './json-body.ts';

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
  if (body.isBuilt) return builtBody(value as T);
  return { value: value as T, text: editedText(body, edits) };
}

/** The text of a body with some of its members changed and every other byte as it was, where bytes came. */
export function editedText(body: JsonBody<Record<string, unknown>>, edits: Edits): string {
  return body.isBuilt ? textOf(body.value, edits) : editMembers(body.text, edits, body.scan);
}

function textOf(value: Record<string, unknown>, edits: Edits): string {
  let members = '';
  const add = (name: string, text: string | null | undefined) => {
    if (typeof text === 'string') members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${text}`;
  };
  for (const name in value) {
    const edit = edits.get(name);
    add(name, edit === undefined ? JSON.stringify(value[name]) : edit);
  }
  for (const [name, edit] of edits) if (!Object.hasOwn(value, name)) add(name, edit);
  return `{${members}}`;
}

import { editMembers, type Edits } from './edit-members.ts';
import { type JsonBody, builtBody } from './json-body.ts';

/** Members to set; undefined removes one. */
export type Changes<T> = { [K in keyof T]?: T[K] | undefined };

/** Changes members of a body and keeps every other byte. Returns the same object if nothing changes. */
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

/** Text of a body with some members changed; every other received byte stays as it was. */
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

import type { ChatRequest } from '../../wire/chat/chat.ts';
import { editMembers, type Edits } from '../../wire/json/edit-members.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';

/** Fields to set; undefined takes one out. */
export type Changes = { [K in keyof ChatRequest]?: ChatRequest[K] | undefined };

/** A request with some of its fields changed and every other byte as it was; the same object when there is no change. */
export function edited(request: JsonBody<ChatRequest>, changes: Changes): JsonBody<ChatRequest> {
  const value: Record<string, unknown> = { ...request.value };
  const edits: Edits = new Map();
  for (const [name, change] of Object.entries(changes)) {
    if (change === value[name]) continue;
    edits.set(name, change === undefined ? null : JSON.stringify(change));
    if (change === undefined) delete value[name];
    else value[name] = change;
  }
  if (edits.size === 0) return request;
  return { value: value as ChatRequest, text: editMembers(request.text, edits) };
}

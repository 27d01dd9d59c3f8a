import { editMembers, type Edits } from '../../json/edit-members.ts';
import { exactValue } from '../../json/exact-numbers.ts';
import type { JsonBody } from '../../json/json-body.ts';
import { summaryMessage } from '../../chat/summary-message.ts';
import { readSummary } from '../compaction.ts';
import { addsTools } from '../client-tools.ts';
import { definedType } from '../defined-tools.ts';
import { toChatItems, hasCiphertext } from '../other-items.ts';
import type { InputItem, ResponsesRequest, ResponsesTool, StoredItem } from '../responses.ts';

/**
 * Request for a server that supports responses: the client's bytes, with stored state inserted, without ids of ours, and
 * without server tools, which would cost extra.
 * @param conversation whole conversation, if it is more than the input
 */
export function nativeRequest(
  body: JsonBody<ResponsesRequest>,
  conversation: readonly StoredItem[] | null,
  stream: boolean,
): JsonBody<Record<string, unknown>> {
  const { value, text } = body;
  const edits: Edits = new Map(Object.entries({ store: 'false', stream: stream ? 'true' : null }));
  const items = conversation ?? (typeof value.input === 'string' ? [] : value.input);
  if (conversation || items.some(isEdited))
    edits.set('input', JSON.stringify(items.flatMap((item) => sentItem(item))));
  if (value.tools?.some((tool) => sentTool(tool) !== tool)) {
    const tools = (exactValue(body).tools ?? []).flatMap((tool) => sentTool(tool) ?? []);
    edits.set('tools', tools.length > 0 ? JSON.stringify(tools) : null);
  }
  // The server stores nothing, so the client needs the encrypted reasoning for the next turn.
  const { include, reasoning } = value;
  if (reasoning && !include?.includes(encryptedReasoning))
    edits.set('include', JSON.stringify([...(include ?? []), encryptedReasoning]));
  return { value: { ...value }, text: editMembers(text, edits) };
}

function isEdited({ id, type, tools }: InputItem): boolean {
  if (tools?.some((tool) => sentTool(tool) !== tool) && addsTools({ type })) return true;
  return type === 'agent_message' || Boolean(id) || type === 'reasoning' || type === 'compaction';
}

function withoutId(item: InputItem): InputItem {
  const { id: _, ...rest } = item;
  return rest;
}

const encryptedReasoning = 'reasoning.encrypted_content';

/** Drops reasoning that Offpeak wrote, because some servers reject it, and converts our compaction items to messages. */
function sentItem({ id, ...item }: InputItem): object[] {
  const text = readSummary(item);
  if (text !== undefined) return [{ type: 'message', ...summaryMessage(text) }];
  const { type, content, summary } = item;
  if (addsTools(item)) return [{ ...item, tools: item.tools!.flatMap((tool) => sentTool(tool) ?? []) }];
  if (type === 'agent_message' && !hasCiphertext(item))
    return toChatItems({ ...item, type, id: '' }).map(withoutId);
  if (type !== 'reasoning' || item['encrypted_content']) return [item];
  return Array.isArray(content) && content.length > 0 && !summary?.length ? [{ id, ...item }] : [];
}

/** Tools that the client runs, and the search for deferred tools. */
const clientTypes = new Set('function custom namespace computer computer_use_preview tool_search'.split(' '));

/** Converts a tool, flattening functions that are nested as in chat completions; undefined for server tools. */
function sentTool(tool: ResponsesTool): object | undefined {
  if (!clientTypes.has(tool.type) && !definedType(tool)) return undefined;
  return tool.function ? { type: tool.type, ...tool.function } : tool;
}

import { editMembers } from '../../json/edit-members.ts';
import type { Edits } from '../../json/edit-members.ts';
import { exactValue } from '../../json/exact-numbers.ts';
import type { JsonBody } from '../../json/json-body.ts';
import { summaryMessage } from '../../chat/summary-message.ts';
import { readSummary } from '../compaction.ts';
import { addsTools } from '../client-tools.ts';
import { definedType } from '../defined-tools.ts';
import { toChatItems, hasCiphertext } from '../other-items.ts';
import type { InputItem, ResponsesRequest, ResponsesTool, StoredItem } from '../responses.ts';

/**
 * A request as a server takes it that speaks this format and knows nothing of what is stored here: the client's bytes, with
 * all that it refers to in its place, without ids of ours, and without tools that others would run at a price of their own.
 * @param conversation all that is said, if it is more than the input
 */
export function nativeRequest(
  body: JsonBody<ResponsesRequest>,
  conversation: readonly StoredItem[] | null,
  stream: boolean,
): JsonBody<Record<string, unknown>> {
  const { value, text } = body;
  const edits: Edits = new Map([
    ['store', 'false'],
    ['stream', stream ? 'true' : null],
  ]);
  const items = conversation ?? (typeof value.input === 'string' ? [] : value.input);
  if (conversation || items.some(isEdited))
    edits.set('input', JSON.stringify(items.flatMap((item) => sentItem(item))));
  if (value.tools?.some((tool) => sentTool(tool) !== tool)) {
    const tools = (exactValue(body).tools ?? []).flatMap((tool) => sentTool(tool) ?? []);
    edits.set('tools', tools.length > 0 ? JSON.stringify(tools) : null);
  }
  // Nobody there remembers what was thought; told again, it goes on from there.
  const { include, reasoning } = value;
  if (reasoning && !include?.includes(thoughts))
    edits.set('include', JSON.stringify([...(include ?? []), thoughts]));
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

const thoughts = 'reasoning.encrypted_content';

/**
 * Thoughts that we told, with a summary of all of them, are of no use to whoever runs the model: some refuse them. A
 * conversation that we summed up is told in words.
 */
function sentItem({ id, ...item }: InputItem): object[] {
  const said = readSummary(item);
  if (said !== undefined) return [{ type: 'message', ...summaryMessage(said) }];
  const { type, content, summary } = item;
  if (addsTools(item)) return [{ ...item, tools: item.tools!.flatMap((tool) => sentTool(tool) ?? []) }];
  if (type === 'agent_message' && !hasCiphertext(item))
    return toChatItems({ ...item, type, id: '' }).map(withoutId);
  if (type !== 'reasoning' || item['encrypted_content']) return [item];
  return Array.isArray(content) && content.length > 0 && !summary?.length ? [{ id, ...item }] : [];
}

/** Tools that the client itself runs, and the search for those that are deferred; functions come nested as on chat completions, too. */
const ofClients = new Set('function custom namespace computer computer_use_preview tool_search'.split(' '));

function sentTool(tool: ResponsesTool): object | undefined {
  if (!ofClients.has(tool.type) && !definedType(tool)) return undefined;
  return tool.function ? { type: tool.type, ...tool.function } : tool;
}

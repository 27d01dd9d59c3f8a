import { fieldsOf } from '../../base/fields.ts';
import { joinedName } from './client-tools.ts';
import type { InputPart, StoredItem } from './responses.ts';

/**
 * Items of the format beside those of messages and of the client's tools: what other agents said, and calls of tools that ran on
 * another server. Each type becomes items that a chat has, is left out for a reason, or cannot be passed on.
 */

type ItemConverter = (item: StoredItem) => StoredItem[];

const converters: Record<string, ItemConverter> = {
  agent_message: (item) => message(item),
  mcp_call: ({ server_label: label, name = '', arguments: json = '{}', output, error, ...item }) =>
    ranCall(
      item,
      { name: joinedName({ namespace: textOf(label), name }), arguments: json },
      textOf(output) || (error ? `Error: ${textOf(error)}` : ''),
    ),
  file_search_call: ({ queries, results, ...item }) =>
    Array.isArray(results)
      ? ranCall(item, { name: 'file_search', arguments: { queries } }, foundIn(results))
      : [],
  code_interpreter_call: ({ code, outputs, ...item }) =>
    code || outputs ? ranCall(item, { name: 'code_interpreter', arguments: { code } }, logsOf(outputs)) : [],
  image_generation_call: ({ result, ...item }) =>
    result
      ? ranCall(item, { name: 'image_generation', arguments: {} }, [
          { type: 'input_image', image_url: `data:image/png;base64,${textOf(result)}` },
        ])
      : [],
  computer_call: ({ action, actions, ...item }) => [
    { ...item, type: 'function_call', name: 'computer', arguments: JSON.stringify({ action, actions }) },
  ],
  computer_call_output: ({ output, ...item }) => {
    const { image_url: url } = fieldsOf(output);
    const shown = url ? [{ type: 'input_image', image_url: textOf(url) }] : '';
    return [{ ...item, type: 'function_call_output', output: shown }];
  },
  program: ({ code, ...item }) => [
    { ...item, type: 'function_call', name: 'program', arguments: JSON.stringify({ code }) },
  ],
  program_output: ({ result, ...item }) => [
    { ...item, type: 'function_call_output', output: textOf(result) },
  ],
};

/** Types that are left out, each for the reason that docs/responses.md names. */
const leftOut = new Set(
  `additional_tools item_reference web_search_call mcp_list_tools mcp_approval_request mcp_approval_response
  tool_search_call tool_search_output`.split(/\s+/),
);

/** Types that a chat has, or that are turned into those elsewhere. */
const ofChats = new Set(
  `message reasoning compaction function_call function_call_output custom_tool_call custom_tool_call_output
  local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call
  apply_patch_call_output`.split(/\s+/),
);

/** The advice in the error for an item that cannot be passed on; undefined for one that can. */
export function refusalFor({ type }: StoredItem): string | undefined {
  if (type === 'configuration_update')
    return 'settings cannot change within a conversation here: set reasoning and text of the request';
  if (type === 'compaction_trigger')
    return 'nothing is compacted within a response here: use POST /v1/responses/compact';
  if (ofChats.has(type) || leftOut.has(type) || Object.hasOwn(converters, type)) return undefined;
  return 'this type of item cannot be passed on to the model: leave the item out, or send what it says as a message';
}

export function isConvertible({ type }: StoredItem): boolean {
  return Object.hasOwn(converters, type);
}

/** An item of another type as items of a chat; none if it is empty. */
export function toChatItems(item: StoredItem): StoredItem[] {
  return converters[item.type]!(item);
}

/** A message of another agent, as the user's. Behind a server that does not encrypt, the encrypted part is plain text. */
function message({ content, ...item }: StoredItem): StoredItem[] {
  const parts = Array.isArray(content) ? content : [{ type: 'input_text', text: content ?? '' }];
  const texts = parts.map(plainText).filter((text) => text !== '');
  if (texts.length === 0) return [];
  return [
    { ...item, type: 'message', role: 'user', content: texts.map((text) => ({ type: 'input_text', text })) },
  ];
}

/** True if a part of it is a ciphertext, which only the server that made it can read. */
export function hasCiphertext({ content }: Pick<StoredItem, 'content'>): boolean {
  return Array.isArray(content) && content.some(isCiphertext);
}

function isCiphertext({ encrypted_content: sealed }: InputPart): boolean {
  return typeof sealed === 'string' && sealed.startsWith('gAAAAA');
}

function plainText(part: InputPart): string {
  if (part.type !== 'encrypted_content') return part.text ?? '';
  return isCiphertext(part) ? '' : textOf(part['encrypted_content']);
}

/** A call and its result, which were one item. */
function ranCall(
  { id, ...item }: StoredItem,
  called: { name: string; arguments: string | object },
  output: string | InputPart[],
): StoredItem[] {
  const json = typeof called.arguments === 'string' ? called.arguments : JSON.stringify(called.arguments);
  const made = { ...item, id, call_id: id };
  return [
    { ...made, type: 'function_call', name: called.name.slice(0, 64), arguments: json },
    { ...made, type: 'function_call_output', output },
  ];
}

function foundIn(results: unknown[]): string {
  const texts = results
    .map(fieldsOf)
    .map(({ filename, text }) => `${textOf(filename)}\n${textOf(text)}`.trim());
  return texts.join('\n\n');
}

/** Images that it made are elsewhere, at an address. */
function logsOf(outputs: unknown): string {
  const told = Array.isArray(outputs) ? outputs.map(fieldsOf) : [];
  return told.map(({ logs, url }) => textOf(logs ?? url)).join('\n');
}

function textOf(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value);
}

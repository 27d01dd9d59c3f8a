import { fieldsOf } from '../../base/fields.ts';
import { joinedName } from './client-tools.ts';
import type { InputPart, StoredItem } from './responses.ts';

/** Convert an item of another agent, or a call that ran on another server, to chat items; none if it is empty. */
const converters: Record<string, (item: StoredItem) => StoredItem[]> = {
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

/** Types that are dropped, for the reasons in docs/responses.md. */
const dropped = new Set(
  `additional_tools item_reference web_search_call mcp_list_tools mcp_approval_request mcp_approval_response
  tool_search_call tool_search_output`.split(/\s+/),
);

/** Types that are messages or calls of the client's tools. */
const chatTypes = new Set(
  `message reasoning compaction function_call function_call_output custom_tool_call custom_tool_call_output
  local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call
  apply_patch_call_output`.split(/\s+/),
);

/** Error message for an item that cannot be passed to the model; undefined for others. */
export function refusalFor({ type }: StoredItem): string | undefined {
  if (type === 'configuration_update')
    return 'configuration updates are not supported: set reasoning and text of the request';
  if (type === 'compaction_trigger')
    return 'compaction within a response is not supported: use POST /v1/responses/compact';
  if (chatTypes.has(type) || dropped.has(type) || Object.hasOwn(converters, type)) return undefined;
  return 'items of this type cannot be passed to the model: remove the item, or send its content as a message';
}

export function isConvertible({ type }: StoredItem): boolean {
  return Object.hasOwn(converters, type);
}

export function toChatItems(item: StoredItem): StoredItem[] {
  return converters[item.type]!(item);
}

/** Message of another agent as a user message. Servers that do not encrypt send plain text as encrypted content. */
function message({ content, ...item }: StoredItem): StoredItem[] {
  const parts = Array.isArray(content) ? content : [{ type: 'input_text', text: content ?? '' }];
  const texts = parts.map(plainText).filter((text) => text !== '');
  if (texts.length === 0) return [];
  return [
    { ...item, type: 'message', role: 'user', content: texts.map((text) => ({ type: 'input_text', text })) },
  ];
}

/** True if a part is encrypted, so that only the server that made it can read it. */
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

/** Splits an item into a call and its result. */
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

/** Logs of a code interpreter; its images are only URLs. */
function logsOf(outputs: unknown): string {
  const list = Array.isArray(outputs) ? outputs.map(fieldsOf) : [];
  return list.map(({ logs, url }) => textOf(logs ?? url)).join('\n');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

import { chatLimits } from '../../chat/request/request-schema.ts';
import * as t from '../../schema/schema.ts';
import { toolSchema } from './tool-schema.ts';

// Strict about items that become messages; others are only forwarded to servers that support responses.
const textTypes = ['input_text', 'output_text', 'text'];
const partTypes = [...textTypes, 'refusal', 'input_image', 'input_audio', 'input_file'];

const filled = t.string({ minLength: 1 });
const notStored = (what: string, instead: string) => ({
  type: 'null',
  expected: `no ${what}: send the content itself as ${instead}`,
});

const part = t.object(
  {
    type: t.oneOf(partTypes),
    'text?': t.stringOrNull(),
    'refusal?': t.stringOrNull(),
    'image_url?': t.orNull(t.imageUrl),
    'detail?': t.stringOrNull(),
    'input_audio?': t.orNull(t.inputAudio),
    'file_data?': t.stringOrNull(),
    'filename?': t.stringOrNull(),
  },
  {
    allOf: [
      t.when('type', textTypes, { text: t.string() }),
      t.when('type', 'refusal', { refusal: t.string() }),
      t.when('type', 'input_audio', { input_audio: t.anyObject() }),
      t.when('type', 'input_image', {
        'file_id?': notStored('file_id', 'image_url'),
        image_url: t.string(),
      }),
      t.when('type', 'input_file', {
        'file_id?': notStored('file_id', 'file_data'),
        'file_url?': notStored('file_url', 'file_data'),
        file_data: t.base64,
      }),
    ],
    ...t.known('annotations cache_control logprobs prompt_cache_breakpoint'),
  },
);

const parts = { type: ['string', 'array'], items: part, expected: 'a string or an array of parts' };
const textOnly = { items: { properties: { type: { enum: textTypes } } } };

const messageFields = { role: t.oneOf(['user', 'assistant', 'system', 'developer']), content: parts };
const messageRules = {
  allOf: [
    t.when('role', ['user', 'system', 'developer'], { 'content?': { minItems: 1 } }),
    t.when('role', ['system', 'developer'], { 'content?': textOnly }),
  ],
};

/** Untyped item: a reference if it has an id and neither role nor content, else a message. */
const untyped = t.ifThen(
  { required: ['id'], not: { anyOf: [{ required: ['role'] }, { required: ['content'] }] } },
  t.fields({ id: t.string() }),
  { ...t.fields(messageFields), ...messageRules },
);

/** Screenshot for servers that support responses. It must be inline. */
const screenshot = t.object(
  { 'image_url?': t.orNull(t.imageData), 'file_id?': notStored('file_id', 'image_url') },
  t.known('type detail prompt_cache_breakpoint'),
);

const called = { call_id: filled, name: filled, 'namespace?': t.stringOrNull() };
const texts = t.orNull(t.array(t.object({ 'text?': t.stringOrNull() }, t.known('type'))));

const agentPart = t.object(
  { type: t.oneOf(['input_text', 'encrypted_content']) },
  {
    allOf: [
      t.when('type', 'input_text', { text: t.string() }),
      t.when('type', 'encrypted_content', { encrypted_content: t.string() }),
    ],
  },
);

const itemFields: [types: string | string[], has: t.Fields][] = [
  ['function_call', { ...called, arguments: t.string({ description: 'JSON text' }) }],
  ['custom_tool_call', { ...called, input: t.string() }],
  ['additional_tools', { tools: t.array(toolSchema, { maxItems: chatLimits.tools }) }],
  [['function_call_output', 'custom_tool_call_output'], { call_id: filled, output: parts }],
  ['computer_call_output', { call_id: filled, output: screenshot }],
  [['local_shell_call', 'shell_call'], { call_id: filled, action: t.anyObject() }],
  ['apply_patch_call', { call_id: filled, operation: t.anyObject() }],
  ['local_shell_call_output', { 'call_id?': t.stringOrNull(), output: t.string() }],
  ['shell_call_output', { call_id: filled, output: { type: ['string', 'array'] } }],
  ['apply_patch_call_output', { call_id: filled, 'status?': t.stringOrNull(), 'output?': t.stringOrNull() }],
  ['reasoning', { 'summary?': texts, 'content?': texts }],
  ['compaction', { encrypted_content: filled }],
  ['agent_message', { content: { ...parts, items: agentPart } }],
  ['tool_search_call', { 'call_id?': t.stringOrNull(), 'execution?': t.stringOrNull() }],
  [
    'tool_search_output',
    { 'call_id?': t.stringOrNull(), tools: t.array(toolSchema, { maxItems: chatLimits.tools }) },
  ],
  ['mcp_call', { id: filled, name: filled, server_label: t.string(), arguments: t.string() }],
  [['file_search_call', 'code_interpreter_call', 'image_generation_call'], { id: filled }],
  [['computer_call', 'program', 'program_output'], { call_id: filled }],
  ['item_reference', { id: t.string() }],
];

/** Fields of items of all types that Offpeak only keeps and forwards. */
const itemKnown = t.known(
  `phase status async caller author recipient agent queries results pending_safety_checks action actions acknowledged_safety_checks
  name namespace arguments execution encrypted_content result background error output output_format quality revised_prompt size
  svg_usage code container_id outputs environment max_output_length approval_request_id fingerprint metadata signature format`,
);

export const inputItemSchema = t.object(
  { 'type?': t.stringOrNull(), 'id?': t.stringOrNull() },
  {
    ...itemKnown,
    allOf: [
      t.ifThen({ properties: { type: { type: 'null' } } }, untyped),
      t.when('type', 'message', messageFields, messageRules),
      ...itemFields.map(([types, has]) => t.when('type', types, has)),
    ],
  },
);

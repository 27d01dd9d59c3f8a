import { chatLimits } from '../../chat/request/request-schema.ts';
import {
  anyObject,
  array,
  base64,
  type Fields,
  fields,
  ifThen,
  imageUrl,
  inputAudio,
  object,
  oneOf,
  orNull,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';
import { toolSchema } from './tool-schema.ts';

/**
 * The items of an input. Strict about those that become messages; items of other types (what hosted tools left behind in a
 * history) pass, and are passed over.
 */
const textTypes = ['input_text', 'output_text', 'text'];
const partTypes = [...textTypes, 'refusal', 'input_image', 'input_audio', 'input_file'];

const filled = string({ minLength: 1 });
const notStored = (what: string, instead: string) => ({
  type: 'null',
  expected: `no ${what}: send the content itself as ${instead}`,
});

const part = object(
  {
    type: oneOf(partTypes),
    'text?': stringOrNull(),
    'refusal?': stringOrNull(),
    'image_url?': orNull(imageUrl),
    'detail?': stringOrNull(),
    'input_audio?': orNull(inputAudio),
    'file_data?': stringOrNull(),
    'filename?': stringOrNull(),
  },
  {
    allOf: [
      when('type', textTypes, { text: string() }),
      when('type', 'refusal', { refusal: string() }),
      when('type', 'input_audio', { input_audio: anyObject() }),
      when('type', 'input_image', {
        'file_id?': notStored('file_id', 'image_url'),
        image_url: string(),
      }),
      when('type', 'input_file', {
        'file_id?': notStored('file_id', 'file_data'),
        'file_url?': notStored('file_url', 'file_data'),
        file_data: base64,
      }),
    ],
  },
);

const parts = { type: ['string', 'array'], items: part, expected: 'a string or an array of parts' };
const textOnly = { items: { properties: { type: { enum: textTypes } } } };

const messageFields = { role: oneOf(['user', 'assistant', 'system', 'developer']), content: parts };
const messageRules = {
  allOf: [
    when('role', ['user', 'system', 'developer'], { 'content?': { minItems: 1 } }),
    when('role', ['system', 'developer'], { 'content?': textOnly }),
  ],
};

/** Without a type: a reference if there is nothing but an id, else a message. */
const untyped = ifThen(
  { required: ['id'], not: { anyOf: [{ required: ['role'] }, { required: ['content'] }] } },
  fields({ id: string() }),
  { ...fields(messageFields), ...messageRules },
);

const called = { call_id: filled, name: filled, 'namespace?': stringOrNull() };
const texts = orNull(array(object({ 'text?': stringOrNull() })));

/** What items of these types have. */
const itemFields: [types: string | string[], has: Fields][] = [
  ['function_call', { ...called, arguments: string({ description: 'JSON text' }) }],
  ['custom_tool_call', { ...called, input: string() }],
  ['additional_tools', { tools: array(toolSchema, { maxItems: chatLimits.tools }) }],
  [['function_call_output', 'custom_tool_call_output'], { call_id: filled, output: parts }],
  [['local_shell_call', 'shell_call'], { call_id: filled, action: anyObject() }],
  ['apply_patch_call', { call_id: filled, operation: anyObject() }],
  ['local_shell_call_output', { 'call_id?': stringOrNull(), output: string() }],
  ['shell_call_output', { call_id: filled, output: { type: ['string', 'array'] } }],
  ['apply_patch_call_output', { call_id: filled, 'status?': stringOrNull(), 'output?': stringOrNull() }],
  ['reasoning', { 'summary?': texts, 'content?': texts }],
  ['compaction', { encrypted_content: filled }],
  ['item_reference', { id: string() }],
];

export const inputItemSchema = object(
  { 'type?': stringOrNull(), 'id?': stringOrNull() },
  {
    allOf: [
      ifThen({ properties: { type: { type: 'null' } } }, untyped),
      when('type', 'message', messageFields, messageRules),
      ...itemFields.map(([types, has]) => when('type', types, has)),
    ],
  },
);

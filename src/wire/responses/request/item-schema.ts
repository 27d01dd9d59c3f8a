import { chatLimits } from '../../chat/request/request-schema.ts';
import { Type } from '../../json-schema.ts';
import { base64, ifThen, inputAudio, needs, oneOf, orNull, raw, stringOrNull, when } from '../../schema.ts';
import { toolSchema } from './tool-schema.ts';

/**
 * The items of an input. Strict about those that become messages; items of other types (what hosted tools left behind in a
 * history) pass, and are passed over.
 */
const partTypes = [
  'input_text',
  'output_text',
  'text',
  'refusal',
  'input_image',
  'input_audio',
  'input_file',
] as const;

const neverFetched = 'a data: URL, because images are never fetched for a caller';
const notStored = (what: string, instead: string) =>
  raw({ type: 'null', expected: `no ${what}: send the content itself as ${instead}` });

const part = Type.Object(
  {
    type: oneOf(partTypes),
    text: Type.Optional(stringOrNull()),
    refusal: Type.Optional(stringOrNull()),
    image_url: Type.Optional(stringOrNull({ pattern: '^data:', expected: neverFetched })),
    detail: Type.Optional(stringOrNull()),
    input_audio: Type.Optional(orNull(inputAudio)),
    file_data: Type.Optional(stringOrNull()),
    filename: Type.Optional(stringOrNull()),
  },
  {
    allOf: [
      when('type', ['input_text', 'output_text', 'text'], needs('text', 'string')),
      when('type', 'refusal', needs('refusal', 'string')),
      when('type', 'input_audio', needs('input_audio', 'object')),
      when('type', 'input_image', {
        properties: { file_id: notStored('file_id', 'image_url'), image_url: { type: 'string' } },
        required: ['image_url'],
      }),
      when('type', 'input_file', {
        properties: {
          file_id: notStored('file_id', 'file_data'),
          file_url: notStored('file_url', 'file_data'),
          file_data: base64,
        },
        required: ['file_data'],
      }),
    ],
  },
);

const parts = (expected: string) => ({ type: ['string', 'array'], items: part, expected });
const textOnly = { items: { properties: { type: { enum: ['input_text', 'output_text', 'text'] } } } };

const message = {
  required: ['role', 'content'],
  properties: {
    role: oneOf(['user', 'assistant', 'system', 'developer']),
    content: parts('a string or an array of parts'),
  },
  allOf: [
    when('role', ['user', 'system', 'developer'], { properties: { content: { minItems: 1 } } }),
    when('role', ['system', 'developer'], { properties: { content: textOnly } }),
  ],
};

const texts = raw({
  type: ['array', 'null'],
  items: { type: 'object', properties: { text: stringOrNull() } },
});

/** Without a type: a reference if there is nothing but an id, else a message. */
const untyped = ifThen(
  { required: ['id'], not: { anyOf: [{ required: ['role'] }, { required: ['content'] }] } },
  needs('id', 'string'),
  message,
);

const called = {
  call_id: { type: 'string', minLength: 1 },
  name: { type: 'string', minLength: 1 },
  namespace: stringOrNull(),
};

export const inputItemSchema = Type.Object(
  { type: Type.Optional(stringOrNull()), id: Type.Optional(stringOrNull()) },
  {
    allOf: [
      ifThen({ properties: { type: { type: 'null' } } }, untyped),
      when('type', 'message', message),
      when('type', 'function_call', {
        required: ['call_id', 'name', 'arguments'],
        properties: { ...called, arguments: { type: 'string', description: 'JSON text' } },
      }),
      when('type', 'custom_tool_call', {
        required: ['call_id', 'name', 'input'],
        properties: { ...called, input: { type: 'string' } },
      }),
      when('type', 'additional_tools', {
        required: ['tools'],
        properties: { tools: { type: 'array', maxItems: chatLimits.tools, items: toolSchema } },
      }),
      when('type', ['function_call_output', 'custom_tool_call_output'], {
        required: ['call_id', 'output'],
        properties: {
          call_id: { type: 'string', minLength: 1 },
          output: parts('a string or an array of parts'),
        },
      }),
      when('type', ['local_shell_call', 'shell_call'], {
        required: ['call_id', 'action'],
        properties: { call_id: called.call_id, action: { type: 'object' } },
      }),
      when('type', 'apply_patch_call', {
        required: ['call_id', 'operation'],
        properties: { call_id: called.call_id, operation: { type: 'object' } },
      }),
      when('type', 'local_shell_call_output', {
        required: ['output'],
        properties: { call_id: stringOrNull(), output: { type: 'string' } },
      }),
      when('type', 'shell_call_output', {
        required: ['call_id', 'output'],
        properties: { call_id: called.call_id, output: { type: ['string', 'array'] } },
      }),
      when('type', 'apply_patch_call_output', {
        required: ['call_id'],
        properties: { call_id: called.call_id, status: stringOrNull(), output: stringOrNull() },
      }),
      when('type', 'reasoning', { properties: { summary: texts, content: texts } }),
      when('type', 'compaction', {
        required: ['encrypted_content'],
        properties: { encrypted_content: { type: 'string', minLength: 1 } },
      }),
      when('type', 'item_reference', needs('id', 'string')),
    ],
  },
);

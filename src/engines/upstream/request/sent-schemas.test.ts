import { expect, it } from 'vitest';
import type { Flavor } from '../../../core/flavor.ts';
import type { ChatRequest, JsonSchema, Tool } from '../../../wire/chat/chat.ts';
import { anthropic, azure, openai } from '../flavors/hosted.ts';
import { generic, llamaServer, offpeak, ollama, sglang, vllm } from '../flavors/self-hosted.ts';
import { sentSchemas } from './sent-schemas.ts';

const traits = {
  anthropic,
  azure,
  openai,
  generic,
  'llama-server': llamaServer,
  offpeak,
  ollama,
  sglang,
  vllm,
};

const tool = (name: string, parameters: JsonSchema, more: object = {}): Tool => ({
  type: 'function',
  function: { name, parameters, ...more },
});
const sent = (flavor: keyof typeof traits, more: Partial<ChatRequest>) =>
  sentSchemas({ model: 'm', messages: [], ...more }, traits[flavor]);
const format = (schema: JsonSchema): Partial<ChatRequest> => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
});
const formatSent = (flavor: keyof typeof traits, schema: JsonSchema) => {
  const given = sent(flavor, format(schema)).response_format;
  return given?.type === 'json_schema' ? given.json_schema.schema : undefined;
};

const email = {
  type: 'object',
  properties: { to: { type: 'string', format: 'email', pattern: '^(?!\\.)\\S+@\\S+$' } },
};
const plainEmail = { type: 'object', properties: { to: { type: 'string', format: 'email' } } };
/** As grammars hold it. */
const text = '[^\\x20\\x00-\\x1F\\x22\\x5C\\x7F]+';
const heldEmail = {
  type: 'object',
  properties: { to: { type: 'string', format: 'email', pattern: `^${text}@${text}$` } },
};
const union = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'string' } },
  anyOf: [{ required: ['a'] }, { required: ['b'] }],
};

it.each<[keyof typeof traits, JsonSchema | undefined]>([
  ['openai', plainEmail],
  ['anthropic', plainEmail],
  ['generic', plainEmail],
  ['vllm', heldEmail],
  ['sglang', heldEmail],
  ['llama-server', heldEmail],
  ['ollama', heldEmail],
  // Another Offpeak does the same itself.
  ['offpeak', undefined],
])('%s is sent no pattern that looks around', (flavor, expected) => {
  expect(formatSent(flavor, email)).toEqual(expected);
  const tools = [tool('strict', email, { strict: true }), tool('loose', email)];
  const changed = sent(flavor, { tools }).tools;
  expect(changed?.map((each) => each.function.parameters)).toEqual(expected && [expected, email]);
});

it.each([
  { pattern: '[(?!]\\(?=' },
  { enum: ['^(?!a)'] },
  { properties: { default: { default: '(?=a)' } } },
  { type: 'object', properties: { a: { type: 'string', pattern: '^(?:a|b)$', description: '(?!)' } } },
])('other servers are sent %j as it is', (schema) => {
  expect(formatSent('openai', schema) ?? schema).toEqual(schema);
});

it('drops look-around patterns of member names with their schemas', () => {
  const named = { patternProperties: { '^(?!x)': {}, '^y': {} }, additionalProperties: false };
  expect(formatSent('openai', named)).toEqual({ patternProperties: { '^y': {} } });
  expect(formatSent('openai', { properties: { enum: { pattern: '(a)\\1' } } })).toEqual({
    properties: { enum: {} },
  });
});

it.each<Flavor & keyof typeof traits>(['vllm', 'sglang', 'llama-server', 'ollama'])(
  '%s is sent what its grammar holds',
  (flavor) => {
    expect(formatSent(flavor, union)).toMatchObject({
      anyOf: [{ properties: { a: {} }, required: ['a'] }, { required: ['b'] }],
    });
    const forced = {
      tools: [tool('f', union), tool('g', union)],
      tool_choice: { type: 'function' as const, function: { name: 'f' } },
    };
    const [f, g] = sent(flavor, forced).tools ?? [];
    expect(f!.function.parameters).toHaveProperty('anyOf.0.properties');
    expect(g!.function.parameters).toBe(union);
    expect(sent(flavor, { tools: [tool('f', union)] })).toEqual({});
    expect(
      sent(flavor, format({ type: 'object', properties: { a: { const: 1 } }, required: ['a'] })),
    ).toEqual({});
  },
);

it('sends llama.cpp only bounds that it can count', () => {
  for (const flavor of ['llama-server', 'ollama'] as const)
    expect(formatSent(flavor, { type: 'array', maxItems: 2_000 })).toEqual({ type: 'array' });
  for (const flavor of ['vllm', 'openai'] as const)
    expect(formatSent(flavor, { type: 'array', maxItems: 2_000 })).toBeUndefined();
});

it.each(['openai', 'azure', 'anthropic'] as const)(
  '%s is sent objects as the parameters of every tool',
  (flavor) => {
    const folded = { type: 'object', properties: union.properties };
    const tools = [tool('loose', union), tool('strict', union, { strict: true }), tool('plain', email)];
    const changed = sent(flavor, { tools }).tools!;
    expect(changed[0]!.function).toEqual({ name: 'loose', parameters: folded });
    expect(changed[1]!.function).toEqual({ name: 'strict', parameters: folded });
    expect(changed[2]).toBe(tools[2]);
  },
);

it('sends unions at the root unchanged to other servers', () => {
  for (const flavor of ['generic', 'offpeak', 'vllm'] as const)
    expect(sent(flavor, { tools: [tool('loose', union)] })).toEqual({});
});

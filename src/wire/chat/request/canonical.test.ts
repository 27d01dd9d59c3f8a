import { describe, expect, it } from 'vitest';
import { type ApiError, invalid } from '../../../core/errors.ts';
import { remapError } from '../../shared/path-map.ts';
import type { ChatBody } from './body.ts';
import { canonicalChat } from './canonical.ts';
import { checkChatRequest } from './request.ts';

const user = { role: 'user', content: 'hi' };
const named = (name: string, more: object = {}) => ({ type: 'function', function: { name, ...more } });
const weather = { name: 'weather', description: 'Tells it.', parameters: { type: 'object' } };

const regex = { type: 'grammar', grammar: { syntax: 'regex', definition: '[a-z]+' } };
const freeText = (pattern?: string) => ({
  description: expect.any(String),
  parameters: {
    type: 'object',
    properties: { input: expect.objectContaining({ type: 'string', ...(pattern && { pattern }) }) },
    required: ['input'],
    additionalProperties: false,
  },
});

function canonical(more: object, messages: object[] = [user]) {
  const value = { model: 'm', messages, ...more };
  expect(checkChatRequest(value)).toEqual([]);
  const made = canonicalChat({ value: value as ChatBody, text: JSON.stringify(value) });
  expect(JSON.parse(made.body.text)).toEqual(made.body.value);
  expect(checkChatRequest(made.body.value)).toEqual([]);
  return made;
}

describe('the canonical form of a chat request', () => {
  it('is the request itself where no conversion is needed', () => {
    const value = { model: 'm', messages: [user], tools: [named('a')], tool_choice: 'auto' } as ChatBody;
    const given = { value, text: JSON.stringify(value) };
    const { body, calls } = canonicalChat(given);
    expect([body.value === value, body.text === given.text]).toEqual([true, true]);
    expect(calls).toEqual({ hasFunctions: false, customs: new Set() });
  });

  it.each<[string, object, object]>([
    [
      'functions',
      { functions: [weather] },
      {
        tools: [named('weather', { description: 'Tells it.', parameters: { type: 'object' } })],
        tool_choice: 'auto',
        parallel_tool_calls: false,
      },
    ],
    [
      'the choice of a function',
      { functions: [weather, { name: 'b', parameters: null }], function_call: { name: 'b' } },
      { tools: [expect.anything(), named('b')], tool_choice: named('b'), parallel_tool_calls: false },
    ],
    [
      'the choice of none',
      { functions: [{ name: 'a' }], function_call: 'none' },
      { tools: [named('a')], tool_choice: 'none', parallel_tool_calls: false },
    ],
    ['no functions', { functions: [], function_call: 'auto' }, {}],
    ['nulls', { functions: null, function_call: null, tools: [named('a')] }, { tools: [named('a')] }],
    ['a choice without functions', { function_call: 'none' }, {}],
    [
      'tools that run elsewhere',
      {
        tools: [{ type: 'web_search' }, named('a')],
        tool_choice: 'required',
      },
      { tools: [named('a')], tool_choice: 'required' },
    ],
    [
      'tools with free text',
      {
        tools: [
          named('a'),
          { type: 'custom', custom: { name: 'c', description: 'Says.', format: { type: 'text' } } },
          { type: 'custom', custom: { name: 'd', format: regex } },
        ],
        tool_choice: { type: 'custom', custom: { name: 'c' } },
      },
      {
        tools: [
          named('a'),
          {
            ...named('c', freeText()),
            custom: { name: 'c', description: 'Says.', format: { type: 'text' } },
          },
          {
            ...named('d', { ...freeText('^(?:[a-z]+)$'), strict: true }),
            custom: { name: 'd', format: regex },
          },
        ],
        tool_choice: named('c'),
      },
    ],
    [
      'allowed tools with free text',
      {
        tools: [named('a'), { type: 'custom', custom: { name: 'c' } }],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'custom', custom: { name: 'c' } }] },
        },
      },
      { tools: [{ ...named('c', freeText()), custom: { name: 'c' } }], tool_choice: 'required' },
    ],
    [
      'nothing but such tools',
      { tools: [{ type: 'web_search' }], tool_choice: 'auto', parallel_tool_calls: true },
      {},
    ],
    [
      'allowed tools',
      {
        tools: [named('a'), named('b'), named('c')],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [named('c'), named('a'), { type: 'web_search' }] },
        },
      },
      { tools: [named('a'), named('c')], tool_choice: 'required' },
    ],
    [
      'all tools allowed',
      {
        tools: [named('a')],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('a')] } },
      },
      { tools: [named('a')], tool_choice: 'auto' },
    ],
    [
      'no tool allowed',
      {
        tools: [named('a')],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('z')] } },
      },
      {},
    ],
    [
      'allowed tools without tools',
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('z')] } } },
      {},
    ],
  ])('of %s', (_, given, expected) => {
    const { body, calls } = canonical(given);
    expect(body.value).toEqual({ model: 'm', messages: [user], ...expected });
    expect(calls.hasFunctions).toBe('functions' in given && given.functions !== null);
  });

  it('converts earlier calls, each with its result', () => {
    const called = (args: string) => ({
      role: 'assistant',
      content: null,
      function_call: { name: 'f', arguments: args },
    });
    const { body } = canonical({}, [
      user,
      called('{"n":1}'),
      { role: 'function', name: 'f', content: 'one' },
      { ...called('{"n":2}'), content: 'Once more.', refusal: null },
      { role: 'function', name: 'f', content: null },
    ]);
    const call = (id: string, args: string) => [
      { id, type: 'function', function: { name: 'f', arguments: args } },
    ];
    expect(body.value.messages).toEqual([
      user,
      { role: 'assistant', content: null, tool_calls: call('call00001', '{"n":1}') },
      { role: 'tool', tool_call_id: 'call00001', content: 'one' },
      { role: 'assistant', content: 'Once more.', refusal: null, tool_calls: call('call00003', '{"n":2}') },
      { role: 'tool', tool_call_id: 'call00003', content: '' },
    ]);
  });

  it('converts a free-text call of another server to a call with arguments', () => {
    const custom = { id: 'call_1', type: 'custom', custom: { name: 'sh', input: 'ls "a"' } };
    const { body } = canonical({}, [
      user,
      { role: 'assistant', content: null, tool_calls: [custom] },
      { role: 'tool', tool_call_id: 'call_1', content: 'a' },
    ]);
    expect(body.value.messages[1]!.tool_calls).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'sh', arguments: '{"input":"ls \\"a\\""}' } },
    ]);
  });

  it('keeps every byte that needs no conversion', () => {
    const text =
      '{"model":"m", "seed":12345678901234567890,"messages":[{"role":"user","content":"x"}],"functions":[{"name":"f"}]}';
    const { body } = canonicalChat({ value: JSON.parse(text) as ChatBody, text });
    expect(body.text).toContain('"seed":12345678901234567890,"messages":[{"role":"user","content":"x"}]');
    expect(JSON.parse(body.text)).not.toHaveProperty('functions');
  });

  it.each<[object, string, string]>([
    [
      { functions: [{ name: 'a' }, weather] },
      'tools[1].function.parameters.properties',
      'functions[1].parameters.properties',
    ],
    [{ functions: [weather] }, 'tool_choice', 'function_call'],
    [
      { tools: [{ type: 'web_search' }, named('a', { parameters: {} })] },
      'tools[0].function.parameters',
      'tools[1].function.parameters',
    ],
  ])('tells errors in the paths of %j', (given, param, place) => {
    const { body, paths } = canonical(given);
    const moved = remapError(invalid(param, 'wrong'), body.value, paths) as ApiError;
    expect([moved.param, moved.message]).toEqual([place, `${place}: wrong`]);
  });
});

describe('functions and tools', () => {
  const faults = (more: object) =>
    checkChatRequest({ model: 'm', messages: [user], ...more }).map(
      ({ param, message }) => `${param}: ${message}`,
    );

  it.each<[object, string]>([
    [{ functions: [weather], tools: [] }, 'functions: cannot be combined with tools'],
    [{ functions: [weather], tool_choice: 'auto' }, 'functions: cannot be combined with tools'],
    [{ function_call: 'auto', tools: [named('a')] }, 'function_call: cannot be combined with tools'],
    [{ functions: [weather], function_call: { name: 'b' } }, 'function_call.name: no function is named "b"'],
    [{ function_call: { name: 'b' } }, 'function_call.name: no function is named "b"'],
    [
      { functions: [{ name: 'a' }, { name: 'a' }] },
      'functions[1].name: duplicate name "a", already used by functions[0]',
    ],
    [
      { functions: [weather], function_call: 'required' },
      'function_call: expected one of "none" or "auto", got "required"',
    ],
    [
      { functions: [{ name: 'a b' }] },
      'functions[0].name: expected 1 to 128 letters, digits, _ or -, got "a b"',
    ],
    [{ functions: 5 }, 'functions: expected an array, got 5'],
  ])('refuses %j', (given, expected) => {
    expect(faults(given)).toEqual([expected]);
  });
});

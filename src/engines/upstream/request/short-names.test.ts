import { expect, it } from 'vitest';
import type { ChatRequest, ChatResponse, Tool } from '../../../wire/chat/chat.ts';
import { withShortNames } from './short-names.ts';

const long = (end: string) => `mcp__${'a_very_long_gateway_'.repeat(5)}${end}`;
const tool = (name: string): Tool => ({ type: 'function', function: { name } });
const shortened = (value: Partial<ChatRequest>, text?: string) => {
  const request = { model: 'm', messages: [], ...value } as ChatRequest;
  return withShortNames({ value: request, text: text ?? JSON.stringify(request) });
};
const namesOf = (value: Partial<ChatRequest>) =>
  shortened(value)!.request.value.tools!.map(({ function: { name } }) => name);

it('does not change a request with short names', () => {
  expect(shortened({})).toBeUndefined();
  expect(shortened({ tools: [tool('x'.repeat(64))], tool_choice: 'auto' })).toBeUndefined();
});

it('shortens long names to 64 characters, uniquely and equally in every request', () => {
  const names = namesOf({ tools: [tool(long('a')), tool(long('b')), tool('short')] });
  for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
  expect(new Set(names).size).toBe(3);
  expect(names[2]).toBe('short');
  expect(namesOf({ tools: [tool(long('b'))] })).toEqual([names[1]]);
});

it('never uses the name of another tool', () => {
  const [first] = namesOf({ tools: [tool(long('a'))] });
  const [other, mine] = namesOf({ tools: [tool(first!), tool(long('a'))] });
  expect(other).toBe(first);
  expect(mine).not.toBe(first);
  expect(mine).toMatch(/^[\w-]{64}$/);
});

it('renames tools, the choice and the calls of a conversation, and keeps every digit', () => {
  const name = long('a');
  const call = { id: 'c', type: 'function' as const, function: { name, arguments: '{}' } };
  const value: Partial<ChatRequest> = {
    messages: [
      { role: 'user', content: name },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', name, content: 'ok' },
    ],
    tools: [{ ...tool(name), custom: { name } }, tool('f')],
    tool_choice: { type: 'function', function: { name } },
  };
  const digits = '{"const":12345678901234567890}';
  const text = JSON.stringify({ model: 'm', ...value }).replace(
    '{"name":"f"}',
    `{"name":"f","parameters":${digits}}`,
  );
  const { request } = shortened(value, text)!;
  expect(request.text).toContain(digits);
  const [user, assistant, result] = request.value.messages;
  const short = request.value.tools![0]!.function.name;
  expect([
    user!.content,
    assistant!.tool_calls![0]!.function.name,
    result!.name,
    request.value.tools![0]!.custom!.name,
    request.value.tool_choice,
  ]).toEqual([name, short, short, short, { type: 'function', function: { name: short } }]);
  expect(JSON.parse(request.text)).toMatchObject({
    messages: [{}, { tool_calls: [{ function: { name: short } }] }, {}],
  });
});

it('restores the names in calls of an answer', () => {
  const names = shortened({ tools: [tool(long('a')), tool('f')] })!;
  const calls = [names.request.value.tools![0]!.function.name, 'f', long('a'), 'unknown'].map((name) => ({
    id: 'c',
    type: 'function' as const,
    function: { name, arguments: '{}' },
  }));
  const answer = {
    choices: [{ message: { tool_calls: calls } }, { message: {} }],
  } as unknown as ChatResponse;
  const [choice] = names.restore(answer).choices;
  expect(choice!.message.tool_calls!.map(({ function: { name } }) => name)).toEqual([
    long('a'),
    'f',
    long('a'),
    'unknown',
  ]);
});

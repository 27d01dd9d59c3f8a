import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testEngine, user } from './engine-fixture.ts';

const modelPath = fileURLToPath(new URL('../../../models/offpeak-tiny.gguf', import.meta.url));
const { engine, ask, chunks } = testEngine({ modelPath });
beforeAll(() => engine.start());
afterAll(() => engine.stop());

const person = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 0, maximum: 130 },
    city: { type: 'string' },
  },
  required: ['name', 'age', 'city'],
  additionalProperties: false,
};
const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function' as const,
  function: {
    name,
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}));

test('the demo model knows the capital of France', async () => {
  const { choices, usage } = await ask({ messages: user('What is the capital of France?'), temperature: 0 });
  expect(choices).toMatchObject([{ message: { content: 'Paris' }, finish_reason: 'stop' }]);
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
});

test('the demo model extracts a person according to a schema', async () => {
  const { choices } = await ask({
    messages: user('Extract the person as JSON: Anna is 33 years old and lives in Rome.'),
    temperature: 0,
    response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema: person } },
  });
  expect(JSON.parse(choices[0]!.message.content!)).toEqual({ name: 'Anna', age: 33, city: 'Rome' });
});

test('a token that the schema requires appears despite a logit bias', async () => {
  const quote = 5;
  const schema = { type: 'string', pattern: '^[ab]{2}$' };
  const { choices } = await ask({
    messages: user('Hello'),
    seed: 2,
    temperature: 1,
    logit_bias: { [quote]: -100 },
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  });
  expect(choices[0]!.message.content).toMatch(/^"[ab]{2}"$/);
});

test('the demo model calls a tool by itself, and a named one when forced', async () => {
  const question = { messages: user('What is the weather in Oslo?'), temperature: 0 };
  const free = await ask({ ...question, tools: [tools[0]!] });
  const forced = await ask({
    ...question,
    tools,
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  });
  for (const { choices } of [free, forced]) {
    expect(choices).toMatchObject([{ message: { content: null }, finish_reason: 'tool_calls' }]);
    const [call] = choices[0]!.message.tool_calls!;
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
    expect(JSON.parse(call!.function.arguments)).toEqual({ city: 'Oslo' });
  }
});

test('the demo model calls no tool when it may not', async () => {
  const { choices } = await ask({
    messages: user('What is the weather in Oslo?'),
    temperature: 0,
    tools,
    tool_choice: 'none',
    max_tokens: 30,
  });
  expect(choices[0]!.message.tool_calls).toBeUndefined();
  expect(choices[0]!.message.content).toMatch(/\w+ \w+/);
});

test('a streamed call consists of its head and its arguments', async () => {
  const all = await chunks({
    messages: user('What is the weather in Oslo?'),
    temperature: 0,
    tools: [tools[0]!],
  });
  expect(all.slice(0, -1).map(({ choices }) => choices[0]!.delta)).toMatchObject([
    { role: 'assistant', content: '' },
    { tool_calls: [{ index: 0, type: 'function', function: { name: 'get_weather', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] },
    {},
  ]);
  expect(all.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 23 } });
});

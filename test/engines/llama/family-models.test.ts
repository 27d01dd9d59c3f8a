import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChatRequest, Tool } from '../../../src/wire/chat/chat.ts';
import { testEngine } from './engine-fixture.ts';
import { randomModelFile } from './random-model.ts';

/** Random models that write like a family: the guarantees hold through llama.cpp's own grammar too. */
const families = {
  'mistral-nemo': ['[TOOL_CALLS]', '[INST]', '[/INST]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]'],
  'gpt-oss': [
    '<|start|>',
    '<|end|>',
    '<|message|>',
    '<|channel|>',
    '<|constrain|>',
    '<|call|>',
    '<|return|>',
  ],
  'llama-3': ['<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>'],
};

const schema = {
  type: 'object',
  properties: {
    a: { type: 'integer', minimum: 1, maximum: 99 },
    b: { type: 'string', pattern: '^x[yz]{1,3}$' },
  },
  required: ['a', 'b'],
  additionalProperties: false,
};
const tools: Tool[] = ['first', 'second'].map((name) => ({
  type: 'function',
  function: { name, strict: true, parameters: schema },
}));
const valid = { a: expect.any(Number) as number, b: expect.stringMatching(/^x[yz]{1,3}$/) as string };

describe.each(Object.entries(families))('%s', (name, control) => {
  const template = readFileSync(new URL(`fixtures/templates/${name}.jinja`, import.meta.url), 'utf8');
  const model = randomModelFile({ seed: 21, contextLength: 2048, template, control });
  const { engine, ask, chunks } = testEngine({ modelPath: model.path });
  beforeAll(() => engine.start());
  afterAll(async () => {
    await engine.stop();
    model.remove();
  });

  const forced: Partial<ChatRequest> = { tools, tool_choice: 'required', max_tokens: 200, temperature: 1.2 };

  test.each([1, 2, 3])('makes the required call, seed %i', async (seed) => {
    const { choices } = await ask({ ...forced, seed });
    const calls = choices[0]!.message.tool_calls!;
    expect(choices[0]!.message.content).toBeNull();
    expect(calls.length).toBeGreaterThan(0);
    for (const call of calls) expect(JSON.parse(call.function.arguments)).toEqual(valid);
    const named = await ask({
      ...forced,
      seed,
      tool_choice: { type: 'function', function: { name: 'second' } },
    });
    expect(named.choices[0]!.message.tool_calls!.map((call) => call.function.name)).toEqual(['second']);
  });

  test('answers in the form of a schema, streamed and whole', async () => {
    const request: Partial<ChatRequest> = {
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
      max_tokens: 100,
      seed: 4,
      temperature: 1,
    };
    const { content, reasoning } = (await ask(request)).choices[0]!.message;
    expect(JSON.parse(content!)).toEqual(valid);
    expect(reasoning).toBeUndefined();
    const streamed = (await chunks(request)).map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(streamed).toBe(content);
  });
});

import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChatRequest, Tool, ToolCall } from '../../../src/wire/chat/chat.ts';
import { testEngine, user } from './engine-fixture.ts';
import { randomModelFile } from './random-model.ts';

const model = randomModelFile({ seed: 3, contextLength: 1024 });
const { engine, ask, refusal, chunks } = testEngine({ modelPath: model.path });
beforeAll(() => engine.start());
afterAll(async () => {
  await engine.stop();
  model.remove();
});

const ajv = new Ajv2020({ strict: false });
const format = (schema: object, strict = true): Partial<ChatRequest> => ({
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'answer', strict, schema: schema as Record<string, unknown> },
  },
});

const schemas: Record<string, object> = {
  person: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer', minimum: 0, maximum: 150 },
      kind: { enum: ['ä', 'b'] },
    },
    required: ['name', 'age', 'kind'],
    additionalProperties: false,
  },
  tree: {
    $defs: {
      node: {
        type: 'object',
        properties: { v: { type: 'integer' }, kids: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['v', 'kids'],
        additionalProperties: false,
      },
    },
    $ref: '#/$defs/node',
  },
  object: { type: 'object' },
  union: {
    anyOf: [
      { type: 'string', maxLength: 5 },
      { type: 'array', items: { type: 'number', minimum: -1, maximum: 2.5 } },
      { type: 'null' },
    ],
  },
};

describe('a random model answers in the form of the schema, within its limit', () => {
  for (const [name, schema] of Object.entries(schemas)) {
    test(name, async () => {
      const validate = ajv.compile(schema);
      // The error names the smallest limit; every limit from there on must suffice.
      const least = Number(
        /at least (\d+)/.exec((await refusal({ ...format(schema), max_tokens: 1 })).message)?.[1] ?? 1,
      );
      const requests = [least, least + 1, least + 9, 60].flatMap((max_tokens) =>
        [1, 2, 3, 4, 5].map(async (seed) => {
          const { choices, usage } = await ask({ ...format(schema), max_tokens, seed, temperature: 1.3 });
          const { content } = choices[0]!.message;
          expect(validate(JSON.parse(content!)), content!).toBe(true);
          expect(usage.completion_tokens).toBeLessThanOrEqual(max_tokens);
        }),
      );
      await Promise.all(requests);
    });
  }
});

test('an answer cut at the limit has finish reason length', async () => {
  const schema = { type: 'array', items: { type: 'integer' }, minItems: 200 };
  const { choices } = await ask({ ...format(schema), max_tokens: 420, temperature: 1, seed: 1 });
  expect(choices[0]!.finish_reason).toBe('length');
  expect(JSON.parse(choices[0]!.message.content!)).toHaveLength(200);
  const whole = await ask({ ...format({ const: [1, 2] }), max_tokens: 20 });
  expect(whole.choices[0]).toMatchObject({ message: { content: '[1,2]' }, finish_reason: 'stop' });
});

test('a stop string ends the text early, and the JSON is completed', async () => {
  const schema = {
    type: 'object',
    properties: { a: { const: 'stop here' }, b: { type: 'null' } },
    required: ['a', 'b'],
  };
  const { choices } = await ask({ ...format(schema), stop: 'here', max_tokens: 60 });
  expect(choices[0]).toMatchObject({
    message: { content: '{"a":"stop here","b":null}' },
    finish_reason: 'stop',
  });
});

test('streamed and whole answers are the same', async () => {
  const request = { ...format(schemas.person!), max_tokens: 40, seed: 5, temperature: 1 };
  const streamed = (await chunks(request)).map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  expect(streamed).toBe((await ask(request)).choices[0]!.message.content);
});

test('json_object gives an object', async () => {
  const { choices } = await ask({
    response_format: { type: 'json_object' },
    max_tokens: 30,
    temperature: 1.5,
    seed: 2,
  });
  expect(JSON.parse(choices[0]!.message.content!)).toBeTypeOf('object');
});

test.each([true, false])(
  'the grammar enforces the rest of a partly supported schema, strict: %s',
  async (strict) => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string', pattern: '^[ab]*a[ab]{14}$', minLength: 2, maxLength: 4000 },
        b: { type: 'number', multipleOf: 1.99 },
        c: { type: 'array', items: { type: 'null' }, minItems: 3, maxItems: 100_000 },
      },
      required: ['a', 'b', 'c'],
    };
    const { choices } = await ask({ ...format(schema, strict), max_tokens: 60, temperature: 1 });
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({
      a: expect.stringMatching(/^.{2,}$/su) as string,
      b: expect.any(Number) as number,
      c: expect.arrayContaining([null]) as null[],
    });
  },
);

describe('errors', () => {
  const schemaParam = 'response_format.json_schema.schema';
  test.each([
    [
      'a schema nothing satisfies',
      { type: 'object', required: ['a'], additionalProperties: false },
      'validation_error',
      undefined,
    ],
    [
      'an endless schema',
      { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
      'validation_error',
      undefined,
    ],
    [
      'too large a product',
      {
        type: 'array',
        items: { type: 'string', maxLength: 2000 },
        anyOf: Array.from({ length: 30 }, (_, i) => ({
          items: { type: 'string', minLength: i, maxLength: 2000 },
        })),
      },
      'schema_too_complex',
      '#',
    ],
  ])('%s', async (_, schema, code, pointer) => {
    const error = await refusal({ ...format(schema), max_tokens: 50 });
    expect(error).toMatchObject({ code, status: 422 });
    if (pointer !== undefined) expect(error.param).toBe(schemaParam + pointer);
  });

  test('a limit below the shortest answer names the required limit', async () => {
    const error = await refusal({ ...format(schemas.person!), max_completion_tokens: 5 });
    expect(error).toMatchObject({ code: 'validation_error', param: 'max_completion_tokens' });
    const least = Number(/at least (\d+)/.exec(error.message)![1]);
    const { usage } = await ask({ ...format(schemas.person!), max_completion_tokens: least });
    expect(usage.completion_tokens).toBeLessThanOrEqual(least);
  });

  test('a context below the shortest answer is an error', async () => {
    const messages = user('x'.repeat(990));
    expect(await refusal({ ...format(schemas.person!), messages })).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/ Shorten the messages\.$/),
    });
    const long = { type: 'array', items: { type: 'array', minItems: 900 }, minItems: 900 };
    expect(await refusal(format(long))).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/ Lower the minimums of the schema\.$/),
    });
  });
});

describe('tools', () => {
  const tool = (name: string, parameters?: Record<string, unknown>): Tool => ({
    type: 'function',
    function: parameters ? { name, parameters } : { name },
  });
  const tools = [
    tool('add', {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      required: ['a', 'b'],
    }),
    tool('ping', { type: 'object', properties: {} }),
    tool('pong'),
    { type: 'function', function: { name: 'null', parameters: null } } as unknown as Tool,
  ];

  const expectCall = (call: ToolCall): void => {
    const { name, arguments: text } = call.function;
    const parameters = tools.find((one) => one.function.name === name)!.function.parameters ?? {
      maxProperties: 0,
    };
    expect(ajv.validate(parameters as object, JSON.parse(text)), text).toBe(true);
  };

  test.each([1, 2, 3, 4])('required calls are made, with seed %i', async (seed) => {
    const required = { tools, tool_choice: 'required' as const, seed, temperature: 1.5, max_tokens: 90 };
    const { choices } = await ask({ ...required, parallel_tool_calls: false });
    const { message, finish_reason } = choices[0]!;
    expect(message.content).toBeNull();
    expect(message.tool_calls).toHaveLength(1);
    expect(['tool_calls', 'length']).toContain(finish_reason);
    expectCall(message.tool_calls![0]!);

    const several = (await ask(required)).choices[0]!.message;
    expect(several.content).toBeNull();
    expect(several.tool_calls!.length).toBeGreaterThan(0);
    several.tool_calls!.forEach(expectCall);
  });

  test('several calls are made only if they are allowed', async () => {
    // The letters that begin a call are made likely, so that the random model adds calls as long as it may.
    const again = {
      tools: [tools[1]!],
      tool_choice: 'required' as const,
      max_tokens: 300,
      seed: 1,
      logit_bias: { [4 + '<'.charCodeAt(0)]: 100 },
    };
    const all = (await ask(again)).choices[0]!;
    expect(all.message.tool_calls!.length).toBeGreaterThan(2);
    expect(new Set(all.message.tool_calls!.map(({ id }) => id)).size).toBe(all.message.tool_calls!.length);
    const one = (await ask({ ...again, parallel_tool_calls: false })).choices[0]!;
    expect(one).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: [{}] } });
    expect(one.message.tool_calls).toHaveLength(1);
    const named = { type: 'function' as const, function: { name: 'ping' } };
    expect((await ask({ ...again, tool_choice: named })).choices[0]!.message.tool_calls).toHaveLength(1);

    const streamed = (await chunks(again)).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(streamed.map(({ index }) => index)).toEqual(
      all.message.tool_calls!.flatMap((_, index) => [index, index]),
    );
  });

  test('a named tool is called', async () => {
    for (const name of ['add', 'ping', 'pong', 'null']) {
      const { choices } = await ask({
        tools,
        tool_choice: { type: 'function', function: { name } },
        max_tokens: 90,
      });
      expect(choices[0]!.message.tool_calls![0]!.function.name).toBe(name);
    }
  });

  test('each call has an id of its own', async () => {
    const { choices } = await ask({ tools, tool_choice: 'required', n: 2, temperature: 1, max_tokens: 90 });
    const ids = choices.map(({ message }) => message.tool_calls![0]!.id);
    expect(ids[0]).toMatch(/^call_[0-9a-f]{32}$/);
    expect(new Set(ids).size).toBe(2);
  });

  test('an unknown tool and a schema that is too complex are rejected', async () => {
    expect(
      await refusal({ tools, tool_choice: { type: 'function', function: { name: 'nope' } } }),
    ).toMatchObject({
      code: 'validation_error',
      param: 'tool_choice',
    });
    const texts = Array.from('abcdefgh', (name) => [name, { type: 'string', maxLength: 2000 }]);
    const many = { type: 'object', properties: Object.fromEntries(texts) as object };
    expect(await refusal({ tools: [tools[0]!, tool('f', many)], tool_choice: 'required' })).toMatchObject({
      code: 'schema_too_complex',
      param: 'tools[1].function.parameters#',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { chatRequest, chatResponse } from '../../../test/support/fake-engine.ts';
import { createInlineSchemas } from '../../../test/support/inline-schemas.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { ChatRequest, JsonSchema, Tool } from '../../wire/chat/chat.ts';
import { createCheck } from './check.ts';
import { answerRule } from '../../wire/chat/answer-rule.ts';

const withSchema = (schema: JsonSchema): Partial<ChatRequest> => ({
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
});
const tool = (name: string, parameters?: JsonSchema): Tool => ({
  type: 'function',
  function: { name, ...(parameters !== undefined && { parameters }) },
});
const place = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const schemas = createInlineSchemas(createManualClock());
const checkOf = async (more: Partial<ChatRequest>) => {
  const { value } = chatRequest(more);
  return createCheck(value, answerRule(value), schemas, 'org_1');
};
const verdict = async (more: Partial<ChatRequest>, ...answer: Parameters<typeof chatResponse>) => {
  try {
    await (
      await checkOf(more)
    )?.(chatResponse(...answer));
    return 'kept';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('a check', () => {
  it.each([
    ['nothing', {}],
    ['text', { response_format: { type: 'text' as const } }],
    ['tools that may be called', { tools: [tool('f')], tool_choice: 'auto' as const }],
    ['tools that may not', { tools: [tool('f')], tool_choice: 'none' as const }],
  ])('promises nothing for %s', async (_what, more) => {
    expect(await checkOf(more)).toBeNull();
    expect(await verdict(more, 'anything')).toBe('kept');
  });

  it.each([
    ['{"city":"Oslo"}', 'kept'],
    ['{"city":7}', 'schema_not_met'],
    ['{}', 'schema_not_met'],
    ['{"city":"Os', 'schema_not_met'],
    ['Here you are: {"city":"Oslo"}', 'schema_not_met'],
    ['', 'schema_not_met'],
  ])('holds the content %j to the schema', async (content, expected) => {
    expect(await verdict(withSchema(place), content)).toBe(expected);
  });

  it('holds strings to their format, of those that are known', async () => {
    const dated = { properties: { on: { format: 'date' }, size: { format: 'int32' } } };
    expect(await verdict(withSchema(dated), '{"on":"2026-02-28","size":7}')).toBe('kept');
    expect(await verdict(withSchema(dated), '{"on":"2026-02-30"}')).toBe('schema_not_met');
    const more = { tools: [tool('f', dated)], tool_choice: 'required' as const };
    expect(await verdict(more, null, { calls: [['f', '{"on":"soon"}']] })).toBe('tool_not_called');
  });

  it('tries the schema of a response format beside a tool that must be called, too', async () => {
    const more = { ...withSchema({ type: 'strnig' }), tools: [tool('f')], tool_choice: 'required' as const };
    await expect(checkOf(more)).rejects.toMatchObject({
      param: expect.stringContaining('response_format'),
    });
  });

  it('accepts a refusal', async () => {
    const response = chatResponse(null);
    response.choices[0]!.message.refusal = 'I cannot help with that.';
    for (const more of [withSchema(place), { tools: [tool('f')], tool_choice: 'required' as const }])
      await expect((await checkOf(more))?.(response)).resolves.toBeUndefined();
  });

  it('takes no content for none', async () => {
    expect(await verdict(withSchema(place), null)).toBe('schema_not_met');
  });

  const required = { tools: [tool('f')], tool_choice: 'required' as const };
  const object = { response_format: { type: 'json_object' as const } };
  it.each([
    [withSchema(place), '{"city":"Os', 'kept'],
    [withSchema(place), '```json\n{"ci', 'kept'],
    [withSchema(place), '```js', 'kept'],
    [withSchema(place), '{\n \n', 'kept'],
    [withSchema(place), '{"city":7}', 'schema_not_met'],
    [withSchema(place), '{"city":"Oslo"}\n\n \n', 'kept'],
    [withSchema({ uniqueItems: true }), '["a","a"]', 'schema_not_met'],
    [withSchema({ minimum: 100 }), '12', 'kept'],
    [withSchema({}), '[{"a', 'kept'],
    [withSchema({}), '-12.', 'kept'],
    [withSchema({}), 'tru', 'kept'],
    [withSchema({}), '"Well', 'kept'],
    [withSchema(place), 'Here is the JSON: {"city":"Os', 'schema_not_met'],
    [withSchema(place), 'true enough, the city', 'schema_not_met'],
    [withSchema(place), '[Note] the city', 'schema_not_met'],
    [object, '{"a', 'kept'],
    [object, '{the', 'schema_not_met'],
    [object, '["a', 'schema_not_met'],
    [required, 'I should look that up, and', 'tool_not_called'],
    [required, '{"name":"f","argu', 'kept'],
    [required, 'Let me see. <tool_call>\n{"na', 'kept'],
    // Thinking took all there was.
    [required, null, 'kept'],
    [object, '', 'kept'],
  ])('takes %j for cut only where it had begun: %j', async (more, content, expected) => {
    expect(await verdict(more, content, { finish: 'length' })).toBe(expected);
  });

  it.each([
    [
      withSchema(place),
      'Well, the city',
      'length',
      'The answer is not JSON. The answer was truncated by max_tokens.',
    ],
    [withSchema(place), 'Well, the city', 'stop', 'The answer is not JSON.'],
    [
      { ...withSchema(place), stop: '}' },
      '{"city":"Oslo"',
      'stop',
      'The answer is not JSON. A stop sequence of the request may have truncated it.',
    ],
    [required, 'I should', 'length', "The model did not call 'f'. The answer was truncated by max_tokens."],
  ] as const)('of %j tells what may have cut %j (%s)', async (more, content, finish, message) => {
    const check = (await checkOf(more))!;
    await expect(check(chatResponse(content, { finish }))).rejects.toMatchObject({ message });
  });

  it('takes a call that was cut for begun', async () => {
    const answer = { calls: [['f', '{"ci']] as [string, string][], finish: 'length' as const };
    expect(await verdict(required, 'Well.', answer)).toBe('kept');
  });

  it.each([
    [['{"city":7}'], 'tool_not_called'],
    [['{"city":"Oslo"}'], 'kept'],
    [['{"city":7}', '{"ci'], 'kept'],
  ])(
    'holds the arguments %j, of which nothing is missing, to the tool though the limit came',
    async (given, expected) => {
      const calls = given.map((each): [string, string] => ['f', each]);
      for (const choice of ['required', 'auto'] as const) {
        const strict = { ...tool('f', place), function: { ...tool('f', place).function, strict: true } };
        const more = { tools: [strict], tool_choice: choice };
        expect(await verdict(more, null, { calls, finish: 'length' })).toBe(expected);
      }
    },
  );

  it('lets a tool be called instead of an answer', async () => {
    const more = { ...withSchema(place), tools: [tool('f')] };
    expect(await verdict(more, null, { calls: [['f', '{}']], finish: 'tool_calls' })).toBe('kept');
  });

  it.each([
    [[['f', '{"city":"Oslo"}']], 'kept'],
    [[['f', '{"city":7}']], 'tool_not_called'],
    [
      [
        ['f', '{"city":"Oslo"}'],
        ['f', '{"city":7}'],
      ],
      'tool_not_called',
    ],
    [[['f', '{"city":']], 'tool_not_called'],
    [undefined, 'tool_not_called'],
  ] as [[string, string][] | undefined, string][])(
    'holds calls %j to the forced tool',
    async (calls, expected) => {
      const choice = { type: 'function' as const, function: { name: 'f' } };
      const more = { tools: [tool('g'), tool('f', place)], tool_choice: choice };
      expect(await verdict(more, 'I would rather not', calls && { calls })).toBe(expected);
    },
  );

  it.each([
    [[['f', '{}']], 'kept'],
    [[['f', 'no JSON']], 'tool_not_called'],
    [[['f', 'null']], 'tool_not_called'],
    [[['f', '[1]']], 'tool_not_called'],
    [[['f', '"{}"']], 'tool_not_called'],
    [[['unheard-of', '{}']], 'tool_not_called'],
    [[], 'tool_not_called'],
  ] as [[string, string][], string][])('holds %j to a call being required', async (calls, expected) => {
    expect(await verdict({ tools: [tool('f')], tool_choice: 'required' }, null, { calls })).toBe(expected);
  });

  it.each([
    ['{"city":7}', 'kept'],
    ['{}', 'kept'],
    ['[]', 'schema_not_met'],
    ['null', 'schema_not_met'],
    ['"{}"', 'schema_not_met'],
    ['Sure: {}', 'schema_not_met'],
  ])('holds the content %j to being an object', async (content, expected) => {
    expect(await verdict({ response_format: { type: 'json_object' } }, content)).toBe(expected);
  });

  it('checks every choice', async () => {
    const response = chatResponse('{"city":"Oslo"}');
    response.choices.push({
      ...response.choices[0]!,
      index: 1,
      message: chatResponse('no').choices[0]!.message,
    });
    await expect((await checkOf(withSchema(place)))?.(response)).rejects.toThrow(/not JSON/);
  });

  it.each([
    ['an unknown type', { type: 'strnig' }],
    ['a reference to nothing', { $ref: '#/$defs/nowhere' }],
    ['a pattern that is none', { pattern: '(' }],
    ['a pattern that neither RE2 nor JavaScript reads', { pattern: '^(?!a)b\\Z' }],
  ])('refuses a schema with %s, naming the field', async (_what, schema) => {
    await expect(checkOf(withSchema(schema))).rejects.toMatchObject({
      status: 422,
      param: expect.stringMatching(/^response_format\.json_schema\.schema(#|$)/),
    });
  });

  it('names the parameters of the tool whose schema is bad', async () => {
    const choice = { type: 'function' as const, function: { name: 'f' } };
    const more = { tools: [tool('g'), tool('f', { type: 'strnig' })], tool_choice: choice };
    await expect(checkOf(more)).rejects.toMatchObject({ param: 'tools[1].function.parameters#/type' });
  });

  it('holds each string and name to the pattern of its own', async () => {
    const text = (pattern: string) => ({ type: 'string', pattern });
    const schema = withSchema({
      properties: { a: text('^x') },
      patternProperties: { '^b': text('^y'), '^c': { type: 'number' } },
      additionalProperties: false,
    });
    expect(await verdict(schema, '{"a":"x","b":"y","c":1}')).toBe('kept');
    for (const wrong of ['{"a":"y"}', '{"b":"x"}', '{"c":"y"}', '{"x":1}'])
      expect(await verdict(schema, wrong), wrong).toBe('schema_not_met');
  });

  it('knows the places of lists in schemas of earlier dialects, too', async () => {
    const schema = (...prefixItems: unknown[]) =>
      withSchema({ $schema: 'http://json-schema.org/draft-07/schema#', prefixItems });
    expect(await verdict(schema({ type: 'null' }), '[null, 1]')).toBe('kept');
    expect(await verdict(schema({ type: 'null' }), '[1]')).toBe('schema_not_met');
    for (const wrong of [{ pattern: '(?=x' }, { type: 'strnig' }, 5])
      await expect(checkOf(schema(wrong))).rejects.toMatchObject({ code: 'validation_error' });
  });

  it('applies `nullable` beside a type, and ignores it elsewhere', async () => {
    const nullable = true;
    const schema = withSchema({
      $defs: { a: { type: 'string' } },
      properties: {
        ref: { allOf: [{ $ref: '#/$defs/a' }], nullable },
        text: { type: 'string', nullable },
        nullable: { type: 'boolean' },
      },
      additionalProperties: false,
    });
    expect(await verdict(schema, '{"ref":"x","text":null,"nullable":false}')).toBe('kept');
    for (const wrong of ['{"ref":null}', '{"nullable":null}'])
      expect(await verdict(schema, wrong), wrong).toBe('schema_not_met');
  });

  it('takes cents for multiples of a hundredth', async () => {
    const schema = withSchema({ type: 'number', multipleOf: 0.01 });
    for (const cents of ['0.29', '19.99', '-0.07', '1e2']) expect(await verdict(schema, cents)).toBe('kept');
    expect(await verdict(schema, '19.995')).toBe('schema_not_met');
  });

  it('matches patterns in linear time', async () => {
    const text = JSON.stringify(`${'a'.repeat(50_000)}b`);
    const timeOf = async (pattern: string) => {
      const { user } = process.cpuUsage();
      expect(await verdict(withSchema({ pattern }), text)).toBe('schema_not_met');
      return process.cpuUsage().user - user;
    };
    // A check that is not linear takes thousands of times as long as a simple one.
    const simple = await timeOf('^a+$');
    expect(await timeOf('^(a+)+$')).toBeLessThan(100 * simple);
  });

  it('keeps schemas with the same $id apart', async () => {
    const schema = (type: string) => ({ $id: 'https://example.com/same', type });
    expect(await verdict(withSchema(schema('string')), '"text"')).toBe('kept');
    expect(await verdict(withSchema(schema('number')), '"text"')).toBe('schema_not_met');
  });

  it('survives a value that looks like a prototype', async () => {
    const schema = {
      type: 'object',
      properties: { __proto__: { type: 'string' } },
      additionalProperties: false,
    };
    expect(await verdict(withSchema(schema), '{"constructor":1}')).toBe('schema_not_met');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

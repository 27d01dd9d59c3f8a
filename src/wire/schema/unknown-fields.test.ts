import { describe, expect, it } from 'vitest';
import { checkChatRequest } from '../chat/request/request.ts';
import { checkMessagesRequest } from '../messages/request/request.ts';
import { checkResponsesRequest } from '../responses/request/request.ts';
import { FieldWarnings, findUnknownFields, maxUnknownFields } from './unknown-fields.ts';
import type { Validator } from './validate.ts';

const found = (body: object, check: Validator = checkChatRequest) =>
  findUnknownFields(body, check.known()).map(({ field, suggestion }) => [field, suggestion]);

const messages = [{ role: 'user', content: 'hi' }];
const chat = { model: 'm', messages };

describe('unknown fields', () => {
  it.each([
    [{ ...chat, max_token: 5 }, 'max_token', 'max_tokens'],
    [{ ...chat, temperture: 0 }, 'temperture', 'temperature'],
    [{ ...chat, maxTokens: 5 }, 'maxTokens', 'max_tokens'],
    [{ ...chat, maxOutputTokens: 5 }, 'maxOutputTokens', 'max_tokens'],
    [{ ...chat, stop_sequences: ['a'] }, 'stop_sequences', 'stop'],
    [{ ...chat, zzz: 5 }, 'zzz', null],
    [
      { ...chat, stream_options: { include_usge: true } },
      'stream_options.include_usge',
      'stream_options.include_usage',
    ],
    [{ ...chat, messages: [{ ...messages[0], contnt: '' }] }, 'messages[].contnt', 'messages[].content'],
    [
      { ...chat, messages: [{ role: 'user', content: [{ type: 'text', txt: 'a' }] }] },
      'messages[].content[].txt',
      'messages[].content[].text',
    ],
    [
      { ...chat, tools: [{ type: 'function', function: { name: 'f', paramters: {} } }] },
      'tools[].function.paramters',
      'tools[].function.parameters',
    ],
    [
      { ...chat, response_format: { type: 'json_schema', json_schema: { name: 'a', schma: {} } } },
      'response_format.json_schema.schma',
      'response_format.json_schema.schema',
    ],
    [{ ...chat, 'a b': 1 }, '["a b"]', null],
  ])('of %j are %s', (body, field, suggestion) => {
    expect(found(body)).toEqual([[field, suggestion]]);
  });

  it('are not the fields of schemas, metadata, arguments and tools that other servers run', () => {
    const schema = { type: 'object', properties: { max_token: { type: 'string' } } };
    expect(
      found({
        ...chat,
        metadata: { max_token: '1' },
        logit_bias: { 5: 1 },
        chat_template_kwargs: { max_token: 1 },
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
        tools: [
          { type: 'function', function: { name: 'f', parameters: schema } },
          { type: 'web_search', max_token: 1 },
        ],
      }),
    ).toEqual([]);
  });

  it('of messages depend on the type of a block', () => {
    const body = {
      model: 'm',
      max_tokens: 1,
      stop_sequence: ['a'],
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', contents: '', cache_control: {} }],
        },
        { role: 'assistant', content: [{ type: 'web_search_tool_result', results: [] }] },
      ],
      tools: [
        { name: 'f', input_schema: {}, inputSchema: {} },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
      ],
    };
    expect(found(body, checkMessagesRequest)).toEqual([
      ['stop_sequence', 'stop_sequences'],
      ['messages[].content[].contents', 'messages[].content[].content'],
      ['tools[].inputSchema', 'tools[].input_schema'],
    ]);
  });

  it('of responses depend on the type of an item', () => {
    const body = {
      model: 'm',
      max_tokens: 5,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'a', txt: 'b' }], rol: 'user' },
        { type: 'shell_call_output', call_id: 'c', output: [{ stdout: '', stderr: '', outcome: {} }] },
        { type: 'of_the_future', anything: 1 },
      ],
      text: { format: { type: 'text' }, verbosit: 'low' },
    };
    expect(found(body, checkResponsesRequest)).toEqual([
      ['max_tokens', 'max_output_tokens'],
      ['input[].content[].txt', 'input[].content[].text'],
      ['input[].rol', 'input[].role'],
      ['text.verbosit', 'text.verbosity'],
    ]);
  });

  it('are not those that the configuration names for the model, at the top level', () => {
    const extra = () => ['magic'];
    const body = { ...chat, magic: 1, messages: [{ ...messages[0], magic: 1 }] };
    expect(findUnknownFields(body, checkChatRequest.known(), { extra })).toMatchObject([
      { field: 'messages[].magic' },
    ]);
  });

  it('are decoded, shortened, and reported once and up to a limit', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`${at}x`.repeat(60), at]));
    const body = {
      ...chat,
      ...many,
      messages: [...messages, ...messages].map((each) => ({ ...each, xyz: 1 })),
    };
    const all = findUnknownFields(body, checkChatRequest.known(), { textOf: (text) => text.toUpperCase() });
    expect(all).toHaveLength(maxUnknownFields);
    expect(all.map(({ field }) => field)).toContain('messages[].XYZ');
    expect(Math.max(...all.map(({ field }) => field.length))).toBeLessThan(130);
  });

  it('keep names of prototypes apart', () => {
    const body = JSON.parse('{"model":"m","messages":[],"__proto__":{"a":1},"constructor":1}') as object;
    expect(found(body).map(([field]) => field)).toEqual(['__proto__', 'constructor']);
  });
});

it('counts the requests with a field, and remembers the first line', () => {
  const warnings = new FieldWarnings();
  warnings.add([{ field: 'a', suggestion: null }], 2);
  warnings.add([{ field: 'b', suggestion: 'c' }], 3);
  warnings.add([{ field: 'b', suggestion: 'c' }], 7);
  expect(warnings.all).toEqual([
    { code: 'unknown_field', field: 'b', count: 2, suggestion: 'c', line: 3 },
    { code: 'unknown_field', field: 'a', count: 1, suggestion: null, line: 2 },
  ]);
});

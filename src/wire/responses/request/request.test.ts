import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../core/errors.ts';
import { checkResponsesRequest, parseResponsesRequest, requireConversation } from './request.ts';
import { storedItems } from '../stored-items.ts';

const base = { model: 'm', input: 'x' };
const f = { type: 'function', name: 'f', parameters: { type: 'object' } };

/** The paths of the faults of a request, which is otherwise fine. */
const faultsOf = (more: object) => checkResponsesRequest({ ...base, ...more }).map(({ param }) => param);

describe('a request', () => {
  it.each<[string, object, string[]]>([
    ['no model', { model: undefined }, ['model']],
    ['no input', { input: undefined }, ['input']],
    ['an input that is a number', { input: 7 }, ['input']],
    ['an empty list of items', { input: [] }, ['input']],
    ['an item that is text', { input: ['x'] }, ['input[0]']],
    ['an item that is nothing', { input: [{}] }, ['input[0].role', 'input[0].content']],
    ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }, ['input[0].role']],
    ['content null', { input: [{ role: 'user', content: null }] }, ['input[0].content']],
    ['content without parts', { input: [{ role: 'user', content: [] }] }, ['input[0].content']],
    [
      'an unknown part',
      { input: [{ role: 'user', content: [{ type: 'video', text: 'x' }] }] },
      ['input[0].content[0].type'],
    ],
    [
      'a text part without text',
      { input: [{ role: 'user', content: [{ type: 'input_text' }] }] },
      ['input[0].content[0].text'],
    ],
    [
      'an image to be fetched',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }] },
      ['input[0].content[0].image_url'],
    ],
    [
      'an image that is null',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: null, file_id: 'file-1' }] }] },
      ['input[0].content[0].file_id', 'input[0].content[0].image_url'],
    ],
    [
      'a file whose data is an address',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'http://169.254.169.254/' }] }] },
      ['input[0].content[0].file_data'],
    ],
    [
      'a file to be fetched',
      {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_file', file_data: 'data:,x', file_url: 'file:///etc/passwd' }],
          },
        ],
      },
      ['input[0].content[0].file_url'],
    ],
    [
      'an image for the system',
      { input: [{ role: 'system', content: [{ type: 'input_image', image_url: 'data:,x' }] }] },
      ['input[0].content[0].type'],
    ],
    [
      'a call without its fields',
      { input: [{ type: 'function_call' }] },
      ['input[0].call_id', 'input[0].name', 'input[0].arguments'],
    ],
    [
      'arguments as an object',
      { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }] },
      ['input[0].arguments'],
    ],
    [
      'a result without its fields',
      { input: [{ type: 'function_call_output' }] },
      ['input[0].call_id', 'input[0].output'],
    ],
    ['a reference to nothing', { input: [{ type: 'item_reference' }] }, ['input[0].id']],
    ['a function without a name', { tools: [{ type: 'function' }] }, ['tools[0].name']],
    [
      'a nested function without a name',
      { tools: [{ type: 'function', function: {} }] },
      ['tools[0].function.name'],
    ],
    ['a name with blanks', { tools: [{ ...f, name: 'a b' }] }, ['tools[0].name']],
    ['parameters that are text', { tools: [{ ...f, parameters: 'x' }] }, ['tools[0].parameters']],
    [
      'a name twice',
      { tools: [f, { type: 'function', function: { name: 'f' } }] },
      ['tools[1].function.name'],
    ],
    ['a choice that is no word', { tool_choice: 'any' }, ['tool_choice']],
    ['required without tools', { tool_choice: 'required' }, ['tool_choice']],
    [
      'required with hosted tools alone',
      { tools: [{ type: 'web_search' }], tool_choice: 'required' },
      ['tool_choice'],
    ],
    [
      'an absent function',
      { tools: [f], tool_choice: { type: 'function', name: 'g' } },
      ['tool_choice.name'],
    ],
    [
      'an absent function, nested',
      { tools: [f], tool_choice: { type: 'function', function: { name: 'g' } } },
      ['tool_choice.function.name'],
    ],
    ['a hosted tool forced', { tools: [f], tool_choice: { type: 'web_search' } }, ['tool_choice.type']],
    [
      'allowed tools that are none',
      {
        tools: [f],
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] },
      },
      ['tool_choice.tools'],
    ],
    [
      'a format without a schema',
      { text: { format: { type: 'json_schema', name: 'n' } } },
      ['text.format.schema'],
    ],
    ['an unknown format', { text: { format: { type: 'yaml' } } }, ['text.format.type']],
    ['no tokens at all', { max_output_tokens: 0 }, ['max_output_tokens']],
    ['more calls than there are', { max_tool_calls: 2 ** 31 }, ['max_tool_calls']],
    ['heat', { temperature: 3 }, ['temperature']],
    ['metadata of numbers', { metadata: { a: 1 } }, ['metadata.a']],
    [
      'a conversation beside a response',
      { conversation: 'conv_1', previous_response_id: 'resp_1' },
      ['conversation'],
    ],
    ['a conversation without an id', { conversation: {} }, ['conversation.id']],
    ['a stored prompt', { prompt: { id: 'p' } }, ['prompt']],
    ['a background that forgets', { background: true, store: false }, ['store']],
  ])('422: %s', (_, more, paths) => {
    expect(faultsOf(more)).toEqual(paths);
  });

  it('accepts the other fields that agents send', () => {
    expect(
      faultsOf({
        instructions: 'You are an agent.',
        input: [
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'a' }] },
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [],
            content: [{ type: 'reasoning_text', text: 'b' }],
            encrypted_content: null,
          },
          { type: 'function_call', call_id: 'c', name: 'shell', arguments: '{}', namespace: 'x' },
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'd' }] },
          { type: 'custom_tool_call', call_id: 'e', name: 'apply_patch', input: '***' },
          { type: 'custom_tool_call_output', call_id: 'e', output: 'ok' },
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
          { type: 'compaction', encrypted_content: 'zzz' },
        ],
        tools: [
          f,
          { type: 'web_search', external_web_access: true },
          { type: 'namespace', name: 'mcp', tools: [f] },
          { type: 'custom', name: 'apply_patch', format: { type: 'grammar' } },
        ],
        tool_choice: 'auto',
        parallel_tool_calls: true,
        reasoning: { effort: 'medium', summary: 'auto', context: 'x' },
        store: false,
        stream: true,
        stream_options: { include_obfuscation: false },
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: 'k',
        prompt_cache_retention: '24h',
        client_metadata: { a: 'b' },
        text: { verbosity: 'low' },
        truncation: 'auto',
        service_tier: 'flex',
        context_management: [],
        user: 'u',
      }),
    ).toEqual([]);
  });

  it('accepts null for every optional field', () => {
    const names =
      'instructions max_output_tokens max_tool_calls temperature top_p top_logprobs stream store background text tools ' +
      'previous_response_id tool_choice parallel_tool_calls reasoning include metadata conversation prompt truncation';
    expect(faultsOf(Object.fromEntries(names.split(' ').map((name) => [name, null])))).toEqual([]);
  });

  it('is read from its text, or rejected with every fault', () => {
    const text = JSON.stringify(base);
    expect(parseResponsesRequest(text)).toMatchObject({ value: base, text });
    expect(() => parseResponsesRequest('{"model":')).toThrow(ApiError);
    expect(() => parseResponsesRequest('{}')).toThrow(/^model: required, but missing \(and 1 more\)$/);
  });
});

describe('a conversation', () => {
  const check = (input: object[]) =>
    requireConversation(
      storedItems(input as never, `resp_${'0'.repeat(32)}`).map((item, n) => ({ item, path: `input[${n}]` })),
    );

  it('needs the call before its result', () => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const result = { type: 'function_call_output', call_id: 'c', output: 'x' };
    expect(() => check([call, result])).not.toThrow();
    expect(() => check([result, call])).toThrow(/^input\[0\]\.call_id: no earlier call has/);
  });

  it('needs a message to answer', () => {
    expect(() => check([{ type: 'web_search_call', status: 'completed' }])).toThrow(
      /^input: contains no message/,
    );
  });
});

import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../core/errors.ts';
import { checkMessagesRequest, parseCountTokensRequest, parseMessagesRequest } from './request.ts';

const user = (content: unknown) => ({ role: 'user', content });
const said = (content: unknown) => ({ role: 'assistant', content });
const base = { model: 'tiny', max_tokens: 10, messages: [user('hi')] };
const weather = { name: 'weather', input_schema: { type: 'object' } };
const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} };
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '12 degrees' };
const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } };

/** `param: message` of every fault. */
const faultsOf = (value: unknown): string[] =>
  checkMessagesRequest(value).map(({ param, message }) => `${param ?? ''}: ${message}`);
const thrownBy = (work: () => unknown): ApiError => {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  throw new Error('nothing of ours was thrown');
};

describe('a messages request', () => {
  it.each([
    ['unknown fields', { container: null, service_tier: 'auto', speed: null, mcp_servers: [], betas: ['x'] }],
    [
      'nulls',
      { system: null, tools: null, tool_choice: null, thinking: null, output_config: null, top_k: null },
    ],
    ['system as blocks', { system: [{ type: 'text', text: 'be kind', ...cached }] }],
    ['system inside the messages', { messages: [{ role: 'system', content: 'be kind' }, user('hi')] }],
    ['older sampling', { temperature: 0, top_p: 1, top_k: 40, stop_sequences: ['a', 'b', 'c', 'd', 'e'] }],
    ['metadata', { metadata: { user_id: 'u', session: 'extra' } }],
    ['images', { messages: [user([{ type: 'image', source: png, ...cached }])] }],
    [
      'an image in a data: URL',
      { messages: [user([{ type: 'image', source: { type: 'url', url: 'data:image/png;base64,aa' } }])] },
    ],
    [
      'a plain document',
      {
        messages: [
          user([
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' }, title: null },
          ]),
        ],
      },
    ],
    [
      'a search result',
      {
        messages: [
          user([{ type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] }]),
        ],
      },
    ],
    [
      'a tool loop',
      {
        messages: [
          user('hi'),
          said([{ type: 'text', text: 'a' }, call]),
          user([result, { type: 'text', text: 'b' }]),
        ],
      },
    ],
    [
      'a result without content',
      { messages: [said([call]), user([{ ...result, content: undefined, is_error: true }])] },
    ],
    [
      'a result with blocks',
      {
        messages: [
          said([call]),
          user([
            {
              ...result,
              content: [
                { type: 'text', text: 'x' },
                { type: 'image', source: png },
                { type: 'tool_reference', tool_name: 'x' },
              ],
            },
          ]),
        ],
      },
    ],
    [
      'thinking of another server',
      {
        messages: [
          user('hi'),
          said([
            { type: 'thinking', thinking: 'x', signature: 'EqQBCg' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'text', text: 'a' },
          ]),
        ],
      },
    ],
    [
      'blocks of hosted tools',
      {
        messages: [
          user('hi'),
          said([
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
            { type: 'something_new' },
          ]),
        ],
      },
    ],
    [
      'hosted tools',
      {
        tools: [
          weather,
          { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
          { type: 'mcp_toolset', mcp_server_name: 'x' },
          { type: 'computer_toolset_20260801' },
        ],
      },
    ],
    [
      'tools that the format defines',
      {
        tools: [
          { type: 'bash_20250124', name: 'bash' },
          { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 9 },
          { type: 'computer_20251124', name: 'computer', display_width_px: 9, display_height_px: 9 },
          { type: 'memory_20250818', name: 'memory', ...cached },
        ],
        tool_choice: { type: 'tool', name: 'bash' },
      },
    ],
    [
      'long names of tools',
      {
        tools: [{ ...weather, type: 'custom', name: `mcp__${'x'.repeat(100)}`, strict: true, ...cached }],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
      },
    ],
    ['every thinking', { thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' } }],
    ['adaptive thinking', { thinking: { type: 'adaptive' }, output_config: { effort: 'max', format: null } }],
    ['structured output', { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }],
    [
      'older structured output',
      { output_format: { type: 'json_schema', schema: { type: 'object' }, name: 'x' } },
    ],
    ['an answer begun by the client', { messages: [user('hi'), said('{"a":')] }],
    ['an empty turn of the assistant', { messages: [user('hi'), said([]), user('still there?')] }],
  ])('may hold %s', (_what, more) => {
    expect(faultsOf({ ...base, ...more })).toEqual([]);
  });

  it.each([
    [[], ': expected an object, got an empty array'],
    [{ ...base, model: undefined }, 'model: required, but missing'],
    [{ ...base, max_tokens: undefined }, 'max_tokens: required, but missing'],
    [{ ...base, max_tokens: 0 }, 'max_tokens: expected at least 1, got 0'],
    [{ ...base, max_tokens: '5' }, 'max_tokens: expected an integer, got "5"'],
    [{ ...base, messages: undefined }, 'messages: required, but missing'],
    [{ ...base, messages: [] }, 'messages: must not be empty'],
    [{ ...base, messages: 'hi' }, 'messages: expected an array, got "hi"'],
    [
      { ...base, messages: [{ role: 'tool', content: 'x' }] },
      'messages[0].role: expected one of "user", "assistant" or "system", got "tool"',
    ],
    [
      { ...base, messages: [user(null)] },
      'messages[0].content: expected a string or an array of blocks, got null',
    ],
    [{ ...base, messages: [user([])] }, 'messages[0].content: must not be empty'],
    [
      { ...base, messages: [user('a'), user([{ type: 'text' }])] },
      'messages[1].content[0].text: required, but missing',
    ],
    [{ ...base, messages: [user([{ text: 'x' }])] }, 'messages[0].content[0].type: required, but missing'],
    [
      { ...base, messages: [user([{ type: 'txt', text: 'x' }])] },
      'messages[0].content[0].type: expected text, image, document, search_result or tool_result, got "txt"',
    ],
    [
      { ...base, messages: [user([call])] },
      'messages[0].content[0].type: expected text, image, document, search_result or tool_result, got "tool_use"',
    ],
    [
      { ...base, messages: [said([{ type: 'image', source: png }])] },
      'messages[0].content[0].type: expected a block of an assistant message, got "image"',
    ],
    [
      { ...base, messages: [said([{ ...call, input: '{}' }])] },
      'messages[0].content[0].input: expected an object, got "{}"',
    ],
    [
      { ...base, messages: [{ role: 'system', content: [{ type: 'image', source: png }] }] },
      'messages[0].content[0].type: expected one of "text", "tool_addition" or "tool_removal", got "image"',
    ],
    [{ ...base, system: 5 }, 'system: expected a string or an array of text blocks, got 5'],
    [{ ...base, stop_sequences: [''] }, 'stop_sequences[0]: must not be empty'],
    [{ ...base, temperature: 3 }, 'temperature: expected at most 2, got 3'],
    [{ ...base, tools: [{ name: 'weather' }] }, 'tools[0].input_schema: required, but missing'],
    [
      { ...base, tools: [{ ...weather, name: 'a b' }] },
      'tools[0].name: expected 1 to 128 letters, digits, _ or -, got "a b"',
    ],
    [
      { ...base, tools: [{ ...weather, type: 'custom', input_schema: 'x' }] },
      'tools[0].input_schema: expected an object, got "x"',
    ],
    [{ ...base, tools: [{ type: 'bash_20250124' }] }, 'tools[0].name: required, but missing'],
    [
      {
        ...base,
        tools: [
          { ...weather, name: 'bash' },
          { type: 'bash_20250124', name: 'bash' },
        ],
      },
      'tools[1].name: duplicate name "bash", already used by tools[0]',
    ],
    [
      { ...base, tools: [weather, weather] },
      'tools[1].name: duplicate name "weather", already used by tools[0]',
    ],
    [
      { ...base, tools: Array.from({ length: 513 }, (_, n) => ({ ...weather, name: `t${n}` })) },
      'tools: expected at most 512 items, got 513',
    ],
    [
      { ...base, tool_choice: { type: 'required' } },
      'tool_choice.type: expected one of "auto", "any", "tool" or "none", got "required"',
    ],
    [{ ...base, tool_choice: { type: 'tool' } }, 'tool_choice.name: required, but missing'],
    [
      { ...base, tool_choice: { type: 'any' } },
      'tool_choice: "any" needs a tool that the client runs; server tools are not supported',
    ],
    [
      {
        ...base,
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      },
      'tool_choice.name: no callable tool is named "web_search"',
    ],
    [
      { ...base, thinking: { type: 'on' } },
      'thinking.type: expected one of "enabled", "adaptive", "disabled" or "between_tools", got "on"',
    ],
    [
      { ...base, thinking: { type: 'enabled', budget_tokens: 2 ** 31 } },
      'thinking.budget_tokens: expected at most 2147483647, got 2147483648',
    ],
    [
      { ...base, output_config: { format: { type: 'json_object' } } },
      'output_config.format.schema: required, but missing',
    ],
    [
      { ...base, messages: [user([result])] },
      'messages[0].content[0].tool_use_id: no earlier assistant turn has the call "toolu_1"',
    ],
  ])('%# names what is wrong and where', (value, expected) => {
    expect(faultsOf(JSON.parse(JSON.stringify(value)))).toContain(expected);
  });

  it.each([
    [
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
      'source.type',
      /PDFs and other binary files are not supported/,
    ],
    [
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      'source.type',
      /PDFs and other binary files are not supported/,
    ],
    [
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      'source.type',
      /expected "base64" or "url"/,
    ],
    [
      { type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } },
      'source.url',
      /a data: URL, or an https: URL if image_urls is on for the model/,
    ],
    [
      { type: 'image', source: { ...png, media_type: 'text/html' } },
      'source.media_type',
      /a type such as image\/png/,
    ],
    [{ type: 'image', source: { ...png, data: '<svg>' } }, 'source.data', /base64/],
    [{ type: 'container_upload', file_id: 'file_1' }, 'type', /expected text, image/],
  ])('says that it cannot read %o', (block, place, sentence) => {
    const [own] = checkMessagesRequest({ ...base, messages: [user([block])] });
    expect(own).toMatchObject({
      param: `messages[0].content[0].${place}`,
      message: expect.stringMatching(sentence),
    });
    const shown = { ...base, messages: [said([call]), user([{ ...result, content: [block] }])] };
    expect(checkMessagesRequest(shown)[0]?.param).toBe(`messages[1].content[0].content[0].${place}`);
  });

  it('is rejected with all faults, the first in the message', () => {
    const error = thrownBy(() =>
      parseMessagesRequest('{"model":"","messages":[{"role":"user","content":5}]}'),
    );
    expect([error.status, error.code, error.param]).toEqual([422, 'validation_error', 'max_tokens']);
    expect(error.message).toBe('max_tokens: required, but missing (and 2 more)');
    expect(thrownBy(() => parseMessagesRequest('{"model":')).status).toBe(422);
    expect(thrownBy(() => parseMessagesRequest('{"model":"a","model":"b"}')).code).toBe('duplicate_key');
  });

  it('rejects a continued thread, and ignores a new one', () => {
    const thread = (value: object) => JSON.stringify({ ...base, messages: [user([result])], thread: value });
    const error = thrownBy(() =>
      parseMessagesRequest(thread({ type: 'continue', previous_message_id: 'msg_1' })),
    );
    expect([error.status, error.code, error.faults[0]?.code]).toEqual([
      404,
      'thread_not_found',
      'thread_not_found',
    ]);
    expect(faultsOf({ ...base, thread: { type: 'create' } })).toEqual([]);
    expect(faultsOf({ ...base, thread: null })).toEqual([]);
    expect(faultsOf({ ...base, thread: {} })).toEqual(['thread.type: required, but missing']);
  });

  it('needs no max_tokens to count tokens', () => {
    const { max_tokens: _, ...rest } = base;
    expect(parseCountTokensRequest(JSON.stringify(rest)).messages).toHaveLength(1);
    expect(thrownBy(() => parseCountTokensRequest('{"model":"tiny","messages":[]}')).param).toBe('messages');
  });

  it('keeps every digit of tool inputs', () => {
    const text = JSON.stringify({
      ...base,
      messages: [user('hi'), said([{ ...call, input: { id: 'ID' } }])],
    });
    const request = parseMessagesRequest(text.replace('"ID"', '123456789012345678901'));
    expect(JSON.stringify(request.messages[1])).toContain('{"id":123456789012345678901}');
    expect(request.max_tokens).toBe(10);
  });
});

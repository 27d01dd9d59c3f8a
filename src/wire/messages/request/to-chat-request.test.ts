import { describe, expect, it } from 'vitest';
import { ApiError, unavailable, invalid } from '../../../core/errors.ts';
import { remapError } from '../../shared/path-map.ts';
import type { Block, MessagesRequest, MessagesTurn } from '../messages.ts';
import { signatureFor } from '../signature.ts';
import { toChatRequest } from './to-chat-request.ts';

const user = (...content: Block[]): MessagesTurn => ({ role: 'user', content });
const said = (...content: Block[]): MessagesTurn => ({ role: 'assistant', content });
const text = (value: string): Block => ({ type: 'text', text: value });
const call = (id: string, input: object = {}): Block => ({ type: 'tool_use', id, name: 'look', input });
const result = (id: string, more: Partial<Block> = {}): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  ...more,
});
const png: Block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
const pngPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } };
const hi: MessagesTurn = { role: 'user', content: 'hi' };
const chatOf = (more: Partial<MessagesRequest>) =>
  toChatRequest({ model: 'm', max_tokens: 5, messages: [hi], ...more }).chat;
const messagesOf = (...messages: MessagesTurn[]) => chatOf({ messages }).messages;

describe('the fields', () => {
  it('are converted to their chat names, and others are dropped', () => {
    const chat = chatOf({
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      cache_control: { type: 'ephemeral' },
    });
    expect(chat).toEqual({
      model: 'm',
      cache_control: { type: 'ephemeral' },
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop: ['END'],
    });
  });

  it('drop null and empty values, and a stream requests its usage', () => {
    expect(Object.keys(chatOf({ temperature: null, stop_sequences: [], tools: [], system: null }))).toEqual([
      'model',
      'messages',
      'max_completion_tokens',
    ]);
    expect(chatOf({ stream: true })).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(chatOf({ stream: false })).not.toHaveProperty('stream');
  });

  it('request strict structured output, from either field', () => {
    const format = { type: 'json_schema' as const, schema: { type: 'object' } };
    const asked = {
      type: 'json_schema',
      json_schema: { name: 'response', strict: true, schema: { type: 'object' } },
    };
    expect(chatOf({ output_config: { format } }).response_format).toEqual(asked);
    expect(chatOf({ output_format: format }).response_format).toEqual(asked);
    const both = chatOf({ output_config: { format: { ...format, schema: true } }, output_format: format });
    expect(both.response_format).toMatchObject({ json_schema: { schema: true } });
    expect(chatOf({ output_config: { format: null } })).not.toHaveProperty('response_format');
  });

  it.each([
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, 'none'],
    [{ thinking: { type: 'adaptive' } }, undefined],
    [{ thinking: { type: 'between_tools' } }, undefined],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }, 'max'],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 16_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 60_000 } }, 'high'],
    [{ thinking: { type: 'enabled', budget_tokens: 60_000 }, output_config: { effort: 'low' } }, 'low'],
    [{}, undefined],
  ])('turn %o into the effort %s', (more, effort) => {
    expect(chatOf(more).reasoning_effort).toBe(effort);
  });

  it('include the thinking budget', () => {
    const budget = (thinking: object) => chatOf({ thinking: thinking as never }).thinking_budget_tokens;
    expect(budget({ type: 'enabled', budget_tokens: 1_024 })).toBe(1_024);
    expect(budget({ type: 'enabled', budget_tokens: null })).toBeUndefined();
    expect(budget({ type: 'disabled', budget_tokens: 5 })).toBeUndefined();
  });
});

describe('tools', () => {
  const own = { name: 'look', description: 'Looks', input_schema: { type: 'object' }, strict: true };
  const hosted = { type: 'web_search_20250305', name: 'web_search' } as never;

  it('become functions, without server tools', () => {
    const chat = chatOf({ tools: [hosted, own, { ...own, name: 'b', type: 'custom', strict: null }] });
    expect(chat.tools).toEqual([
      {
        type: 'function',
        function: { name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: true },
      },
      { type: 'function', function: { name: 'b', description: 'Looks', parameters: { type: 'object' } } },
    ]);
    expect(chat).not.toHaveProperty('tool_choice');
  });

  it.each([
    ['bash_20241022', 'bash', 'command restart', undefined],
    ['bash_20250124', 'bash', 'command restart', undefined],
    [
      'text_editor_20250124',
      'str_replace_editor',
      'command path file_text old_str new_str insert_line view_range',
      'view create str_replace insert undo_edit',
    ],
    [
      'text_editor_20250728',
      'str_replace_based_edit_tool',
      'command path file_text old_str new_str insert_line insert_text view_range',
      'view create str_replace insert',
    ],
    [
      'memory_20250818',
      'memory',
      'command path file_text old_str new_str insert_line insert_text view_range old_path new_path',
      'view create str_replace insert delete rename',
    ],
    [
      'computer_20241022',
      'computer',
      'action coordinate text',
      'key type mouse_move left_click left_click_drag right_click middle_click double_click screenshot cursor_position',
    ],
  ])('that the format defines, such as %s, are told to the model', (type, name, properties, commands) => {
    const { tools } = chatOf({ tools: [{ type, name } as never] });
    const { parameters, ...told } = tools![0]!.function;
    expect(told).toEqual({ name, description: expect.stringMatching(/\.$/) });
    const input = parameters as { properties: Record<string, { enum?: string[] }> };
    expect(Object.keys(input.properties).join(' ')).toBe(properties);
    expect((input.properties['command'] ?? input.properties['action'])?.enum?.join(' ')).toBe(commands);
  });

  it('that the API defines depend on their version and fields', () => {
    const computer = (type: string, more = {}) => {
      const [tool] = chatOf({ tools: [{ type, name: 'computer', ...more } as never] }).tools!;
      const { properties } = tool!.function.parameters as { properties: Record<string, object> };
      return { about: tool!.function.description, fields: Object.keys(properties), ...properties['action'] };
    };
    const size = { display_width_px: 1_280, display_height_px: 800 };
    expect(computer('computer_20250124', size)).toMatchObject({
      about: expect.stringContaining('1280 pixels wide and 800 high'),
      enum: expect.arrayContaining(['screenshot', 'scroll', 'wait']),
      fields: expect.arrayContaining(['start_coordinate', 'scroll_amount', 'duration']),
    });
    expect(computer('computer_20251124', size).fields).not.toContain('region');
    const zooming = computer('computer_20251124', { enable_zoom: true });
    expect(zooming).toMatchObject({ enum: expect.arrayContaining(['zoom']) });
    expect(zooming.fields).toContain('region');
    expect(zooming.about).not.toContain('pixels');
  });

  it.each([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'any' }, 'required'],
    [
      { type: 'tool', name: 'look' },
      { type: 'function', function: { name: 'look' } },
    ],
  ] as const)('are chosen by %o as by %o', (choice, expected) => {
    expect(chatOf({ tools: [own], tool_choice: choice }).tool_choice).toEqual(expected);
  });

  it('are called one at a time when the client says so', () => {
    const tool_choice = { type: 'auto', disable_parallel_tool_use: true } as const;
    expect(chatOf({ tools: [own], tool_choice }).parallel_tool_calls).toBe(false);
    expect(chatOf({ tools: [own], tool_choice: { type: 'auto' } })).not.toHaveProperty('parallel_tool_calls');
  });

  it('drop the choice if none of them is callable', () => {
    const chat = chatOf({ tools: [hosted], tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
    expect(Object.keys(chat)).toEqual(['model', 'messages', 'max_completion_tokens']);
  });
});

describe('the conversation', () => {
  it('begins with one system message made of all leading ones', () => {
    const system: MessagesTurn = { role: 'system', content: 'two' };
    const { messages } = chatOf({ system: [text('one'), text('')], messages: [system, hi] });
    expect(messages).toEqual([
      { role: 'system', content: 'one\n\ntwo' },
      { role: 'user', content: 'hi' },
    ]);
    expect(messagesOf(hi, system, hi).map(({ role }) => role)).toEqual(['user', 'system', 'user']);
    expect(chatOf({ system: '' }).messages).toHaveLength(1);
    expect(messagesOf(system)).toEqual([{ role: 'system', content: 'two' }]);
  });

  it('has a single text as a string, and several as parts', () => {
    expect(messagesOf(user(text('a')))[0]!.content).toBe('a');
    expect(messagesOf(user(text('a'), text(''), text('b')))[0]!.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]);
    expect(messagesOf(user(text('')))[0]!.content).toBe('');
  });

  it('shows images as data: URLs', () => {
    expect(messagesOf(user(png, text('what?')))[0]!.content).toEqual([
      pngPart,
      { type: 'text', text: 'what?' },
    ]);
    const inline: Block = { type: 'image', source: { type: 'url', url: 'data:image/gif;base64,aa' } };
    expect(messagesOf(user(inline))[0]!.content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/gif;base64,aa' } },
    ]);
  });

  it('converts plain documents and search results to text', () => {
    const document: Block = {
      type: 'document',
      title: 'T',
      context: null,
      source: { type: 'text', data: 'D' },
    };
    const search: Block = { type: 'search_result', source: 'S', title: 'T', content: [text('a'), text('b')] };
    const content: Block = { type: 'document', source: { type: 'content', content: [text('c')] } };
    expect(messagesOf(user(document, search, content))[0]!.content).toEqual([
      { type: 'text', text: 'T\nD' },
      { type: 'text', text: 'T\nS\na\nb' },
      { type: 'text', text: 'c' },
    ]);
  });

  it('puts results into separate messages, before the rest of the turn', () => {
    const turn = user(
      text('and now?'),
      result('t1', { content: 'one' }),
      result('t2', { content: [text('two')] }),
    );
    expect(messagesOf(hi, said(text('so'), call('t1', { a: 1 }), call('t2')), turn).slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'so',
        tool_calls: [
          { id: 't1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
          { id: 't2', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 't1', content: 'one' },
      { role: 'tool', tool_call_id: 't2', content: 'two' },
      { role: 'user', content: 'and now?' },
    ]);
  });

  it('marks results that are errors', () => {
    const failed = (content?: Block['content']) =>
      messagesOf(hi, said(call('t')), user(result('t', { is_error: true, ...(content && { content }) })))[2]!
        .content;
    expect(failed('no such city')).toBe('Error: no such city');
    expect(failed([text('a'), text('b')])).toEqual([
      { type: 'text', text: 'Error: a' },
      { type: 'text', text: 'b' },
    ]);
    expect(failed()).toBe('Error');
  });

  it('shows images of a tool result in a user message', () => {
    const turn = user(result('t', { content: [text('a map'), png] }), text('well?'));
    expect(messagesOf(hi, said(call('t')), turn).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 't', content: 'a map' },
      { role: 'user', content: [pngPart, { type: 'text', text: 'well?' }] },
    ]);
    expect(messagesOf(hi, said(call('t')), user(result('t')))).toHaveLength(3);
  });

  it("joins the assistant's texts, without empty ones", () => {
    expect(messagesOf(hi, said(text('a'), text('b')))[1]).toEqual({ role: 'assistant', content: 'ab' });
    expect(messagesOf(hi, said(text(''), call('t')))[1]).toMatchObject({ content: null });
    expect(messagesOf(hi, said(text('')), said(), { role: 'assistant', content: '' })).toHaveLength(1);
  });

  it('is rejected without content', () => {
    const redacted = said({ type: 'redacted_thinking' });
    for (const turn of [said(), said(text('')), redacted, { role: 'system', content: '' } as MessagesTurn])
      expect(() => messagesOf(turn)).toThrow(/^messages: contain nothing to answer/);
  });

  it('ignores what ran on another server', () => {
    const search = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'redacted_thinking', data: 'x' },
    ] as Block[];
    expect(messagesOf(hi, said(...search, text('found')))[1]).toEqual({
      role: 'assistant',
      content: 'found',
    });
    expect(messagesOf(user(text('a'), { type: 'tool_reference' }))[0]).toEqual({
      role: 'user',
      content: 'a',
    });
  });

  it('keeps the thinking of turns with tool calls and of the last turn, whoever signed it', () => {
    const thought = (thinking: string, signature = 'EqQBCg'): Block => ({
      type: 'thinking',
      thinking,
      signature,
    });
    const loop = [hi, said(thought('hm'), call('t')), user(result('t', { content: 'x' }))];
    expect(messagesOf(...loop)[1]).toMatchObject({ content: null, reasoning_content: 'hm' });
    const later = messagesOf(
      ...loop,
      said(thought('so'), text('done')),
      hi,
      said(thought('no'), text('a')),
      hi,
    );
    expect(later.map((message) => message.reasoning_content)).toEqual([
      undefined,
      'hm',
      undefined,
      'so',
      undefined,
      undefined,
      undefined,
    ]);
    // Text beside a result begins no turn.
    const noted = [...loop.slice(0, 2), user(result('t', { content: 'x' }), text('note'))];
    expect(messagesOf(...noted, said(text('done')), hi)[1]!.reasoning_content).toBe('hm');
    expect(messagesOf(hi, said(thought('cut off')), hi).map(({ role }) => role)).toEqual(['user', 'user']);
    const hidden = signatureFor('kept für später', true);
    expect(messagesOf(hi, said(thought('', hidden), call('t')))[1]!.reasoning_content).toBe(
      'kept für später',
    );
    expect(messagesOf(hi, said(thought('', 'foreign'), call('t')))[1]).not.toHaveProperty(
      'reasoning_content',
    );
    expect(messagesOf(hi, said(thought('', 'offpeak1.%%%'), text('a')))[1]).toEqual({
      role: 'assistant',
      content: 'a',
    });
  });
});

describe('an error about the chat request', () => {
  const look = { name: 'look', input_schema: { type: 'object' } };
  const request: MessagesRequest = {
    model: 'm',
    max_tokens: 5,
    system: 'kind',
    messages: [hi, said(call('t')), user(text('a'), result('t', { content: 'x' }), png)],
    tools: [
      { type: 'web_search_20250305', name: 'web_search' } as never,
      look,
      { type: 'bash_20250124', name: 'bash' } as never,
    ],
    output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
  };

  it.each([
    ['tools[0].function.parameters', 'tools[1].input_schema'],
    ['tools[0].function.name', 'tools[1].name'],
    ['tools[1].function.name', 'tools[2].name'],
    ['tools[1].function.parameters', 'tools[2].parameters'],
    ['response_format.json_schema.schema', 'output_config.format.schema'],
    ['messages[0].content', 'system'],
    ['messages[1].content', 'messages[0].content'],
    ['messages[3].content', 'messages[2].content[1].content'],
    ['messages[4].content[1].type', 'messages[2].content[2].type'],
    ['max_completion_tokens', 'max_tokens'],
    ['stop', 'stop_sequences'],
    ['model', 'model'],
    ['messages', 'messages'],
    ['messages[99].content', 'messages[99].content'],
  ])('about %s is about %s', (param, expected) => {
    const { chat, paths } = toChatRequest(request);
    const moved = remapError(invalid(param, 'is wrong'), chat, paths) as ApiError;
    expect(moved).toMatchObject({
      param: expected,
      message: `${expected}: is wrong`,
      status: 422,
      faults: [{ param: expected, message: 'is wrong' }],
    });
  });

  it('is otherwise unchanged, also without a path', () => {
    const { chat, paths } = toChatRequest(request);
    const busy = new ApiError('engine_overloaded', 'Busy.', {
      param: 'stop',
      retryAfter: 3,
      shouldRetry: true,
    });
    expect(remapError(busy, chat, paths)).toMatchObject({
      code: 'engine_overloaded',
      status: 503,
      kind: 'overloaded',
      retryAfter: 3,
      shouldRetry: true,
      blame: unavailable,
      param: 'stop_sequences',
    });
    for (const other of [new ApiError('upstream_error', 'Broken.'), new Error('any'), 'text'])
      expect(remapError(other, chat, paths)).toBe(other);
  });
});

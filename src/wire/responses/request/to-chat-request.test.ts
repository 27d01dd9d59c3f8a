import { describe, expect, it } from 'vitest';
import { checkChatRequest } from '../../chat/request/request.ts';
import { remapError } from '../../shared/path-map.ts';
import { invalid } from '../../../core/errors.ts';
import type { ResponsesRequest } from '../responses.ts';
import { storedItems } from '../stored-items.ts';
import { toChatRequest } from './to-chat-request.ts';

const id = `resp_${'0'.repeat(32)}`;

/** Any request, converted; what comes out must be a chat request that our own door takes. */
function convert(more: Record<string, unknown>) {
  const request = { model: 'm', input: 'x', ...more } as ResponsesRequest;
  const path = (n: number) => (typeof request.input === 'string' ? 'input' : `input[${n}]`);
  const items = storedItems(request.input, id).map((item, n) => ({ item, path: path(n) }));
  const converted = toChatRequest(request, items);
  expect(checkChatRequest(converted.chat)).toEqual([]);
  return converted;
}
const chatOf = (more: Record<string, unknown>) => convert(more).chat;
const messagesOf = (...input: object[]) => chatOf({ input }).messages;

const user = { role: 'user', content: 'x' };
const assistant = { role: 'assistant', content: 'y' };
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] };
const call = (callId: string) => ({
  type: 'function_call',
  call_id: callId,
  name: 'f',
  arguments: '{"a":1}',
});
const result = (callId: string, output: unknown = 'ok') => ({
  type: 'function_call_output',
  call_id: callId,
  output,
});
const called = (callId: string) => ({
  id: callId,
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
});

describe('messages', () => {
  it('are made of a string, of typed and untyped items, and of parts that are joined', () => {
    const hello = { role: 'user', content: 'hello' };
    expect(chatOf({ input: 'hello' }).messages).toEqual([hello]);
    expect(messagesOf({ role: 'user', content: 'hello' })).toEqual([hello]);
    expect(messagesOf({ type: 'message', role: 'user', content: 'hello' })).toEqual([hello]);
    const parts = ['hel', 'lo'].map((text) => ({ type: 'input_text', text }));
    expect(messagesOf({ role: 'user', content: parts })).toEqual([hello]);
  });

  it('have one system message at the start, and keep later ones in place', () => {
    const system = { role: 'system', content: 'B' };
    const developer = { role: 'developer', content: 'C' };
    expect(chatOf({ instructions: 'A', input: [system, developer, user, developer] }).messages).toEqual([
      { role: 'system', content: 'A\n\nB\n\nC' },
      user,
      developer,
    ]);
    expect(chatOf({ instructions: '', input: 'x' }).messages).toEqual([user]);
  });

  it('keep text, calls and reasoning of a turn together, followed by results one by one', () => {
    expect(messagesOf(user, reasoning, assistant, call('a'), call('b'), result('a'), result('b'))).toEqual([
      user,
      {
        role: 'assistant',
        content: 'y',
        reasoning: 'hm',
        reasoning_content: 'hm',
        tool_calls: [called('a'), called('b')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'tool', tool_call_id: 'b', content: 'ok' },
    ]);
  });

  it.each([
    ['of the user', user],
    ['of the developer', { role: 'developer', content: 'x' }],
  ])('%s between a call and its result come after it', (_, said) => {
    const tool = (callId: string) => ({ role: 'tool', tool_call_id: callId, content: 'ok' });
    expect(messagesOf(user, call('a'), said, call('b'), result('a'), result('b'), assistant)).toEqual([
      user,
      { role: 'assistant', content: null, tool_calls: [called('a'), called('b')] },
      tool('a'),
      tool('b'),
      said,
      assistant,
    ]);
    expect(messagesOf(user, call('a'), call('b'), result('a'), said, result('b')).slice(2)).toEqual([
      tool('a'),
      tool('b'),
      said,
    ]);
    // A result that never comes holds nothing up, whatever id its call has.
    expect(messagesOf(user, call('a'), result('a'), call('a'), said, assistant).slice(4)).toEqual([
      said,
      assistant,
    ]);
  });

  it('have null content beside calls alone, and no empty text', () => {
    expect(messagesOf(user, call('a'))[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [called('a')],
    });
  });

  it('keep successive turns apart', () => {
    expect(messagesOf(user, assistant, assistant)).toEqual([user, assistant, assistant]);
    expect(messagesOf(user, call('a'), result('a'), call('b'), result('b')).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
  });

  it('keep the thoughts of turns that called tools, and of the last turn', () => {
    const thoughtsOf = (...items: object[]) => messagesOf(...items).map((message) => message.reasoning);
    expect(
      thoughtsOf(user, reasoning, call('a'), result('a'), reasoning, assistant, user, reasoning, assistant),
    ).toEqual([undefined, 'hm', undefined, 'hm', undefined, 'hm']);
    expect(thoughtsOf(user, reasoning, assistant, user, reasoning, call('a'), result('a'), user)).toEqual([
      undefined,
      undefined,
      undefined,
      'hm',
      undefined,
      undefined,
    ]);
  });

  it('keep the thoughts after a tool result with an image', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    const seen = messagesOf(
      user,
      reasoning,
      call('a'),
      result('a', [image]),
      reasoning,
      call('b'),
      result('b'),
    );
    expect(seen.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'assistant',
      'tool',
    ]);
    expect([seen[1]!.reasoning, seen[4]!.reasoning]).toEqual(['hm', 'hm']);
  });

  it('prefer the reasoning text of other servers to its summary', () => {
    const content = [{ type: 'reasoning_text', text: 'all of it' }];
    expect(messagesOf(user, { ...reasoning, content }, call('a'))[1]!.reasoning).toBe('all of it');
  });

  it('put images of a result into a user message after all results', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    const seen = messagesOf(
      call('a'),
      call('b'),
      result('a', [{ type: 'input_text', text: 'see' }, image]),
      result('b'),
    );
    expect(seen.slice(1)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'see' },
      { role: 'tool', tool_call_id: 'b', content: 'ok' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: image.image_url } }] },
    ]);
  });

  it('convert images, audio and files to parts', () => {
    const content = [
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' },
      { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      { type: 'input_file', file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' },
    ];
    expect(messagesOf({ role: 'user', content })[0]!.content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
      { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } },
    ]);
  });

  it('keep a refusal', () => {
    const refused = { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] };
    expect(messagesOf(user, refused)[1]).toEqual({ role: 'assistant', content: null, refusal: 'No.' });
  });

  it('ignore items that are not part of the conversation', () => {
    const hosted = [
      { type: 'web_search_call', id: 'ws' },
      { type: 'code_interpreter_call', id: 'c' },
      { type: 'file_search_call', id: 'f', queries: ['q'], results: null },
      { type: 'image_generation_call', id: 'i', result: null },
    ];
    expect(messagesOf(user, ...hosted, assistant)).toEqual([user, assistant]);
  });
});

describe('tools', () => {
  const parameters = { type: 'object', properties: { a: { type: 'integer' } } };
  const flat = { type: 'function', name: 'f', description: 'd', parameters, strict: true };
  const nested = { type: 'function', function: { name: 'g', parameters } };
  const hosted = { type: 'web_search' };

  it('are accepted flat and nested, and hosted ones are ignored', () => {
    expect(chatOf({ tools: [hosted, flat, nested] })).toMatchObject({
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', parameters, strict: true } },
        { type: 'function', function: { name: 'g', parameters } },
      ],
      tool_choice: 'auto',
    });
    expect(chatOf({ tools: [hosted], parallel_tool_calls: true })).toEqual({ model: 'm', messages: [user] });
  });

  it.each([
    [
      { type: 'function', name: 'f' },
      { type: 'function', function: { name: 'f' } },
    ],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'function', function: { name: 'f' } },
    ],
    ['required', 'required'],
    ['none', 'none'],
    [null, 'auto'],
  ])('are chosen by %j', (given, expected) => {
    expect(chatOf({ tools: [flat, nested], tool_choice: given })).toMatchObject({
      tools: [{}, {}],
      tool_choice: expected,
    });
  });

  it('are reduced to the allowed ones', () => {
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] };
    expect(chatOf({ tools: [flat, nested], tool_choice: choice })).toMatchObject({
      tools: [{ function: { name: 'g' } }],
      tool_choice: 'required',
    });
  });
});

describe('fields', () => {
  it('are converted for engines', () => {
    const format = { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true };
    expect(
      chatOf({
        max_output_tokens: 9,
        temperature: 0.5,
        top_p: 0.9,
        reasoning: { effort: 'high' },
        text: { format, verbosity: 'low' },
        include: ['message.output_text.logprobs'],
        top_logprobs: 3,
      }),
    ).toEqual({
      model: 'm',
      messages: [user],
      max_completion_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      reasoning_effort: 'high',
      verbosity: 'low',
      logprobs: true,
      top_logprobs: 3,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
      },
    });
    expect(chatOf({ text: { format: { type: 'json_object' } } }).response_format).toEqual({
      type: 'json_object',
    });
    expect(chatOf({ text: { format: { type: 'text' } } })).not.toHaveProperty('response_format');
  });

  it('do not include what engines need not know', () => {
    const ours = { metadata: { a: 'b' }, store: true, user: 'u', safety_identifier: 's', truncation: 'auto' };
    expect(Object.keys(chatOf(ours))).toEqual(['model', 'messages']);
  });
});

describe('an error about the chat request', () => {
  const format = { type: 'json_schema', name: 'n', schema: {} };
  const { chat, paths } = convert({
    input: [user, { role: 'user', content: [{ type: 'input_image', image_url: 'data:,x' }] }],
    instructions: 'A',
    tools: [
      { type: 'web_search' },
      { type: 'function', name: 'f' },
      { type: 'function', function: { name: 'g' } },
    ],
    text: { format },
  });

  it.each([
    ['messages[2].content[0].type', 'input[1].content[0].type'],
    ['tools[0].function.parameters', 'tools[1].parameters'],
    ['tools[1].function.parameters', 'tools[2].function.parameters'],
    ['response_format.json_schema.schema', 'text.format.schema'],
    ['max_completion_tokens', 'max_output_tokens'],
    ['model', 'model'],
  ])('at %s is told at %s', (from, to) => {
    expect(remapError(invalid(from, 'is wrong'), chat, paths())).toMatchObject({
      param: to,
      message: `${to}: is wrong`,
      faults: [{ param: to }],
    });
  });
});

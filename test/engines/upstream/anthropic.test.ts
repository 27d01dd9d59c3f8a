import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engines/engines.ts';
import type { ChatRequest } from '../../../src/wire/chat/chat.ts';
import { estimateText } from '../../../src/wire/chat/request/estimate-prompt.ts';
import { message, send, startFakeUpstream, streamed } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { ask, call, collect, createLogBook, engineAt, json, textOf } from './setup.ts';

// Chat completions sent as messages, and messages read as chat completions, in the types of the official client.

let fake: FakeUpstream;
let engine: Engine;

beforeEach(async () => {
  fake = await startFakeUpstream();
  engine = engineAt(fake.url, { flavor: 'anthropic', model: 'claude-sonnet-5' });
});
afterEach(async () => {
  await engine.stop();
  await fake.close();
});

/** Sampling fields, which the types no longer name but the API version in use still reads. */
type Sent = Anthropic.MessageCreateParams & { temperature?: number; top_p?: number };

async function sent(fields: Partial<ChatRequest>, model?: string): Promise<Sent> {
  const one = model === undefined ? engine : engineAt(fake.url, { flavor: 'anthropic', model });
  await one.generate(ask(fields), call());
  if (one !== engine) await one.stop();
  return JSON.parse(fake.received.at(-1)!.text) as Sent;
}

async function answered(body: object) {
  fake.answer = (response) => send(response, 200, body);
  return await engine.generate(ask(), call());
}

const usage = {
  input_tokens: 10,
  cache_creation_input_tokens: 20,
  cache_read_input_tokens: 30,
  output_tokens: 7,
  output_tokens_details: { thinking_tokens: 4 },
} satisfies Partial<Anthropic.Usage>;

describe('the request', () => {
  it('goes to /messages with the key and the version', async () => {
    expect(await sent({ stop: 'END', temperature: 1.4, top_p: 0.9, seed: 1, n: 1 })).toEqual({
      model: 'claude-sonnet-5',
      max_tokens: 32_000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      temperature: 1,
      stop_sequences: ['END'],
    });
    const { path, headers } = fake.received[0]!;
    expect(path).toBe('/v1/messages');
    expect(headers).toMatchObject({ 'x-api-key': 'secret-upstream-key', 'anthropic-version': '2023-06-01' });
    expect(headers.authorization).toBeUndefined();
  });

  it('has the requested limit and sampling', async () => {
    expect(await sent({ max_completion_tokens: 5, max_tokens: 9, top_p: 0.9, top_k: 20 })).toMatchObject({
      max_tokens: 5,
      top_p: 0.9,
      top_k: 20,
    });
  });

  it('turns a conversation with tools, images and documents into turns', async () => {
    const messages: ChatRequest['messages'] = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AB==', filename: 'a.pdf' } },
          { type: 'file', file: { file_data: 'data:text/plain;base64,w6Q=' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        reasoning: 'I should look.',
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'f', arguments: '{"a":12345678901234567890}' },
          },
          { id: 'functions.g:1', type: 'function', function: { name: 'g', arguments: '' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      { role: 'tool', tool_call_id: 'functions.g:1', content: [{ type: 'text', text: 'two' }] },
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'And now?' },
    ];
    const { system, messages: turns } = await sent({ messages });
    expect(fake.received[0]!.text).toContain('{"a":12345678901234567890}');
    expect(system).toBe('Be brief.\n\nBe kind.');
    expect(turns).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'AB==' },
            title: 'a.pdf',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ä' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'call_1', name: 'f', input: expect.anything() as unknown },
          { type: 'tool_use', id: 'functions_g_1', name: 'g', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'one' },
          { type: 'tool_result', tool_use_id: 'functions_g_1', content: 'two' },
          { type: 'text', text: 'And now?' },
        ],
      },
    ]);
  });

  it('has no blank text, which would be refused', async () => {
    const called = { id: 'c1', type: 'function' as const, function: { name: 'f', arguments: '{}' } };
    const { system, messages: turns } = await sent({
      messages: [
        { role: 'system', content: ' ' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hi' },
            { type: 'text', text: '\n' },
          ],
        },
        { role: 'assistant', content: '\n\n', tool_calls: [called] },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
      ],
    });
    expect(system).toBeUndefined();
    expect(turns).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'one' }] },
    ]);
  });

  it('has tool results before user text between them', async () => {
    const called = (id: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'f', arguments: '{}' },
    });
    const { messages: turns } = await sent({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [called('c1'), called('c2')] },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
        { role: 'user', content: 'Go on.' },
        { role: 'tool', tool_call_id: 'c2', content: 'two' },
      ],
    });
    expect((turns as object[]).at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
        { type: 'tool_result', tool_use_id: 'c2', content: 'two' },
        { type: 'text', text: 'Go on.' },
      ],
    });
  });

  it('turns a conversation of system messages alone into the user turn', async () => {
    const messages: ChatRequest['messages'] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Say hi.' },
    ];
    const { system, messages: turns } = await sent({ messages });
    expect(system).toBeUndefined();
    expect(turns).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Be brief.\n\nSay hi.' }] }]);
  });

  const tools: ChatRequest['tools'] = [
    {
      type: 'function',
      function: { name: 'f', description: 'Does f.', strict: true, parameters: { type: 'object' } },
    },
    { type: 'function', function: { name: 'g' } },
  ];

  it('has the tools and the tool choice', async () => {
    expect((await sent({ tools })).tools).toEqual([
      { name: 'f', description: 'Does f.', strict: true, input_schema: { type: 'object' } },
      { name: 'g', input_schema: { type: 'object' } },
    ]);
    const choice = async (fields: Partial<ChatRequest>) => (await sent({ tools, ...fields })).tool_choice;
    expect(await choice({})).toBeUndefined();
    expect(await choice({ tool_choice: 'required' })).toEqual({ type: 'any' });
    expect(await choice({ tool_choice: 'none', parallel_tool_calls: false })).toEqual({ type: 'none' });
    expect(await choice({ tool_choice: { type: 'function', function: { name: 'g' } } })).toEqual({
      type: 'tool',
      name: 'g',
    });
    expect(await choice({ parallel_tool_calls: false })).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
  });

  it('has the response format', async () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const format = { type: 'json_schema' as const, json_schema: { name: 'a', schema } };
    expect((await sent({ response_format: format })).output_config).toEqual({
      format: { type: 'json_schema', schema },
    });
    const { system, output_config } = await sent({ response_format: { type: 'json_object' } });
    expect([system, output_config]).toEqual([
      'Answer with one JSON object and with nothing else.',
      undefined,
    ]);
  });

  it.each<[string, Partial<ChatRequest>, object]>([
    ['claude-sonnet-5', {}, {}],
    ['claude-sonnet-5', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    [
      'claude-opus-4-7',
      { reasoning_effort: 'minimal', temperature: 0 },
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } },
    ],
    [
      'claude-sonnet-5',
      { reasoning_effort: 'max', tools, tool_choice: 'required' },
      { output_config: { effort: 'max' } },
    ],
    ['claude-haiku-4-5-20251001', { reasoning_effort: 'none' }, {}],
    [
      'claude-haiku-4-5',
      { reasoning_effort: 'high', temperature: 0 },
      { thinking: { type: 'enabled', budget_tokens: 16_000 } },
    ],
    [
      'claude-sonnet-4-5-20250929',
      { thinking_budget_tokens: 5000, reasoning_effort: 'high' },
      { thinking: { type: 'enabled', budget_tokens: 5000 } },
    ],
    ['claude-sonnet-4-5', { reasoning_effort: 'high', max_tokens: 2000 }, {}],
    ['claude-sonnet-4-5', { reasoning_effort: 'high', tools, tool_choice: 'required' }, {}],
    [
      'claude-sonnet-4-5',
      {
        reasoning_effort: 'high',
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c', content: 'x' },
        ],
      },
      {},
    ],
  ])('has the reasoning effort in the fields of %s: %o', async (model, fields, expected) => {
    const { thinking, output_config, temperature } = await sent(fields, model);
    expect({ thinking, output_config }).toEqual(expected);
    if (thinking && thinking.type !== 'disabled') expect(temperature).toBeUndefined();
  });

  it('is counted by the server with all fields that cost tokens', async () => {
    fake.answer = (response) => send(response, 200, { input_tokens: 42 });
    const request = ask({ tools, stop: 'END', temperature: 0 }).value;
    expect(await engine.countTokens(request)).toBe(42);
    const { path, text } = fake.received[0]!;
    expect(path).toBe('/v1/messages/count_tokens');
    expect(Object.keys(JSON.parse(text) as object)).toEqual(['model', 'messages', 'tools']);
  });
});

describe('the answer', () => {
  it('is read with its text, reasoning, calls and usage', async () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'text', text: 'Let me ', citations: null },
      { type: 'text', text: 'look.', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { id: 1 }, caller: { type: 'direct' } },
    ];
    fake.answer = (response) =>
      send(
        response,
        200,
        JSON.stringify(message('', { content, stop_reason: 'tool_use', usage })).replace(
          '"id":1}',
          '"id":12345678901234567890}',
        ),
      );
    const body = await engine.generate(ask(), call());
    expect(body).toMatchObject({
      choices: [
        {
          message: {
            role: 'assistant',
            content: 'Let me look.',
            reasoning: 'Hm.',
            tool_calls: [
              {
                id: 'toolu_1',
                type: 'function',
                function: { name: 'f', arguments: '{"id":12345678901234567890}' },
              },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 60,
        completion_tokens: 7,
        total_tokens: 67,
        prompt_tokens_details: { cached_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    });
  });

  it.each([
    ['end_turn', {}, { finish_reason: 'stop' }],
    ['max_tokens', {}, { finish_reason: 'length' }],
    ['model_context_window_exceeded', {}, { finish_reason: 'length' }],
    ['stop_sequence', { stop_sequence: 'END' }, { finish_reason: 'stop', stop_reason: 'END' }],
    ['refusal', {}, { finish_reason: 'content_filter' }],
    ['pause_turn', {}, { finish_reason: 'stop' }],
  ])('ended by %s', async (stop_reason, more, expected) => {
    const { choices } = await answered(message('x', { stop_reason, ...more }));
    expect(choices[0]).toMatchObject(expected);
  });

  it('passes on the explanation of a refusal', async () => {
    const details = { type: 'refusal', category: 'cyber', explanation: 'No.' };
    const refused = message('', { content: [], stop_reason: 'refusal', stop_details: details });
    expect((await answered(refused)).choices[0]!.message.refusal).toBe('No.');
  });

  it('is rejected if it is not a message', async () => {
    await expect(answered({ choices: [] })).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });
});

const event = (fields: Anthropic.RawMessageStreamEvent | { type: string; [more: string]: unknown }) =>
  `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
const start = event({
  type: 'message_start',
  message: message('', { content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }),
});
const open = (index: number, content_block: object) =>
  event({ type: 'content_block_start', index, content_block });
const delta = (index: number, fields: object) => event({ type: 'content_block_delta', index, delta: fields });
const close = (index: number) => event({ type: 'content_block_stop', index });
const ended = (stop_reason: string, more: object = {}) =>
  event({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null, ...more },
    usage: { output_tokens: 7, input_tokens: null },
  }) + event({ type: 'message_stop' });

describe('the stream', () => {
  const read = async (...pieces: string[]) => {
    fake.answer = streamed(pieces);
    return collect(engine.stream(ask(), call()));
  };

  it('is read event by event', async () => {
    const chunks = await read(
      start,
      event({ type: 'ping' }),
      open(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      delta(0, { type: 'signature_delta', signature: 's' }),
      close(0),
      open(1, { type: 'text', text: '' }),
      delta(1, { type: 'text_delta', text: 'Let me ' }) + delta(1, { type: 'text_delta', text: 'look.' }),
      close(1),
      open(2, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }),
      delta(2, { type: 'input_json_delta', partial_json: '' }),
      delta(2, { type: 'input_json_delta', partial_json: '{"id":12345678901234567890' }),
      delta(2, { type: 'input_json_delta', partial_json: '}' }),
      close(2),
      open(3, { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} }),
      close(3),
      ended('tool_use'),
    );
    expect(JSON.parse(fake.received[0]!.text)).toMatchObject({ stream: true });
    expect(textOf(chunks)).toBe('Let me look.');
    const deltas = chunks.flatMap(({ choices }) => choices.map((choice) => choice.delta));
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
    expect(deltas.map(({ reasoning = '' }) => reasoning).join('')).toBe('Hm.');
    const calls = deltas.flatMap(({ tool_calls: each = [] }) => each);
    expect(calls.map(({ index, id }) => [index, id])).toEqual([
      [0, 'toolu_1'],
      [0, undefined],
      [1, 'toolu_2'],
    ]);
    const written = (at: number) =>
      calls.map(({ index, function: called }) => (index === at ? called?.arguments : '')).join('');
    expect([written(0), written(1)]).toEqual(['{"id":12345678901234567890}', '{}']);
    expect(chunks.at(-2)!.choices[0]).toMatchObject({ finish_reason: 'tool_calls' });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 60, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 30 } },
    });
  });

  it('reports the stop sequence', async () => {
    const text = open(0, { type: 'text', text: '' }) + delta(0, { type: 'text_delta', text: 'a' }) + close(0);
    const chunks = await read(start, text, ended('stop_sequence', { stop_sequence: 'END' }));
    expect(chunks.at(-2)!.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: 'END' });
  });

  it('is complete with its stop reason and usage, even if the connection breaks then', async () => {
    const [end] = ended('end_turn').split('event: message_stop') as [string];
    fake.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = open(0, { type: 'text', text: 'a' }) + close(0);
      response.write(start + text + end, () => response.destroy());
    };
    const chunks = await collect(engine.stream(ask(), call()));
    expect([textOf(chunks), chunks.at(-1)!.usage]).toMatchObject(['a', { completion_tokens: 7 }]);
  });

  it('is an error if it stops early', async () => {
    await expect(read(start, open(0, { type: 'text', text: 'a' }))).rejects.toMatchObject({
      code: 'invalid_upstream_response',
    });
  });

  it('is an error if it never starts a message', async () => {
    const text = open(0, { type: 'text', text: 'a' }) + close(0);
    await expect(read(text, ended('end_turn'))).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });

  it.each([
    ['overloaded_error', 'engine_overloaded'],
    ['rate_limit_error', 'engine_overloaded'],
    ['timeout_error', 'upstream_timeout'],
    ['api_error', 'upstream_error'],
  ])('with an %s inside is %s', async (type, code) => {
    const failure = event({ type: 'error', error: { type, message: 'x' } });
    await expect(read(start, failure)).rejects.toMatchObject({ code });
  });
});

describe('an untranslated request', () => {
  const given = { value: {}, text: '{}' };
  const used = {
    prompt_tokens: 60,
    completion_tokens: 7,
    prompt_tokens_details: { cached_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 4 },
  };

  it('reports the usage of its answer', async () => {
    fake.answer = (response) => send(response, 200, message('Hi.', { usage }));
    expect(await engine.native!.generate('messages', given, call())).toMatchObject({ usage: used });
  });

  it('has its usage estimated from the generated text alone where the server reports none', async () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 'EqoB' },
      { type: 'text', text: 'Hi there.' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { x: 1 } },
    ];
    fake.answer = (response) => send(response, 200, message('', { content, usage: undefined }));
    const { usage: told } = await engine.native!.generate('messages', given, call());
    expect(told.completion_tokens).toBe(5);
  });

  it('reports the usage of its stream with the last event', async () => {
    fake.answer = streamed([start, delta(0, { type: 'text_delta', text: 'Hi.' }), ended('end_turn')]);
    const events = [];
    for await (const list of engine.native!.stream('messages', given, call())) events.push(...list);
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_delta',
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]).toMatchObject({ promptTokens: 60 });
    expect(events[3]).toMatchObject({ usage: used });
  });
});

describe('a failure', () => {
  it.each([
    [400, 'invalid_request_error', 'messages: too few', 'request_refused'],
    [
      400,
      'invalid_request_error',
      'prompt is too long: 300000 tokens > 200000 maximum',
      'context_length_exceeded',
    ],
    [404, 'not_found_error', 'model: claude-0', 'model_not_found'],
    [429, 'rate_limit_error', 'x', 'engine_overloaded'],
    [529, 'overloaded_error', 'Overloaded', 'engine_overloaded'],
    [401, 'authentication_error', 'invalid x-api-key', 'upstream_error'],
  ])('%i %s: %s', async (status, type, text, code) => {
    fake.answer = (response) => send(response, status, { type: 'error', error: { type, message: text } });
    await expect(engine.generate(ask(), call())).rejects.toMatchObject({ code });
  });

  it('for missing credit concerns the account, whatever its status, and is shown only to the operator', async () => {
    const log = createLogBook();
    const poor = engineAt(fake.url, { flavor: 'anthropic', log });
    const text = 'Your credit balance is too low to access the Anthropic API.';
    const error = { type: 'invalid_request_error', message: text };
    fake.answer = (response) => send(response, 400, { type: 'error', error });
    await expect(poor.generate(ask(), call())).rejects.toMatchObject({
      code: 'upstream_error',
      blame: { scope: 'account', retry: true },
      message: expect.not.stringContaining('credit') as string,
    });
    expect(log.warnings).toMatchObject([{ fields: { said: text } }]);
    await poor.stop();
  });
});

it('estimates the usage of an untranslated stream where the server reports none', async () => {
  const text = 'word '.repeat(40);
  const events = [
    { type: 'message_start', message: { usage: {} } },
    { type: 'content_block_delta', delta: { type: 'text_delta', text } },
    { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: text } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ];
  fake.answer = streamed(events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`));
  const [prompt, asked] = [[] as unknown[], json({ model: 'public', max_tokens: 9 })];
  let told: number | undefined;
  for await (const list of engine.native!.stream('messages', asked, call()))
    for (const { promptTokens, usage: last } of list) {
      if (promptTokens !== undefined) prompt.push(promptTokens);
      if (last) told = last.completion_tokens;
    }
  expect(prompt).toEqual([estimateText(asked.text)]);
  expect(told).toBe(estimateText(text + text));
});

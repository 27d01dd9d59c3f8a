import { ambiguous } from '../../../src/core/errors.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import type { ChatRequest } from '../../../src/wire/chat/chat.ts';
import {
  complete,
  completion,
  frame,
  send,
  startFakeUpstream,
  streamed,
  usageFrame,
} from '../../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../../support/fake-upstream.ts';
import { ask, call, collect, createLogBook, engineAt, textOf } from './setup.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

async function upstream(answer?: Responder, options: Partial<UpstreamOptions> = {}) {
  const fake = await startFakeUpstream(answer);
  const engine = engineAt(fake.url, options);
  open.push(fake, engine);
  return { fake, engine };
}

function sent(fake: FakeUpstream): ChatRequest {
  return JSON.parse(fake.received.at(-1)?.text ?? '') as ChatRequest;
}

describe('the request', () => {
  it('forwards the text byte by byte but for the model', async () => {
    const { fake, engine } = await upstream();
    const text =
      '{ "seed": 12345678901234567890,\n "model" : "public", "temperature":1.0, "messages":[{"role":"user","content":"gr\\u00fcn"}] }';
    await engine.generate({ value: JSON.parse(text) as ChatRequest, text }, call());
    expect(fake.received[0]?.text).toBe(text.replace('"public"', '"real-name"'));
    expect(fake.received[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer secret-upstream-key', 'content-type': 'application/json' },
    });
  });

  it('sends no authorization without a key, and keeps the path of the URL', async () => {
    const fake = await startFakeUpstream();
    const engine = engineAt(`http://127.0.0.1:${fake.port}/deep/v1/`, { apiKey: undefined });
    open.push(fake, engine);
    await engine.generate(ask(), call());
    expect(fake.received[0]?.path).toBe('/deep/v1/chat/completions');
    expect(fake.received[0]?.headers).not.toHaveProperty('authorization');
  });

  it('uses the address of the URL, the header of the flavor and the configured headers', async () => {
    const fake = await startFakeUpstream();
    const url = `http://127.0.0.1:${fake.port}/openai/deployments/{model}?api-version=2024-10-21`;
    const engine = engineAt(url, { flavor: 'azure', headers: { 'x-team': 'ours' } });
    open.push(fake, engine);
    await engine.generate(ask(), call());
    expect(fake.received[0]).toMatchObject({
      path: '/openai/deployments/real-name/chat/completions?api-version=2024-10-21',
      headers: { 'api-key': 'secret-upstream-key', 'x-team': 'ours' },
    });
    expect(fake.received[0]?.headers).not.toHaveProperty('authorization');
  });

  it('prefers configured capabilities to those of the flavor', () => {
    const capabilities = { jsonSchema: 'exact', forcedTool: 'none' } as const;
    const engine = engineAt('http://127.0.0.1:9/v1', { flavor: 'vllm', capabilities });
    open.push(engine);
    expect(engine.capabilities).toMatchObject({ ...capabilities, prefixCache: 'shared' });
  });

  it('C12: no field of a request changes its address or credentials, or is passed on as such', async () => {
    const { fake, engine } = await upstream();
    const names =
      'api_base base_url api_key api_version extra_headers extra_body user_config headers custom_llm_provider'
        .concat(
          ' metadata user store proxy fallbacks litellm_params vertex_credentials aws_secret_access_key',
        )
        .split(' ');
    const plain = ask({ temperature: 0.5 });
    await engine.generate(plain, call());
    const hostile = Object.fromEntries(
      names.map((name) => [name, { authorization: 'Bearer other', url: 'http://evil' }]),
    );
    await engine.generate(ask({ ...hostile, temperature: 0.5 }), call());
    const [first, second] = fake.received;
    expect(second?.headers).toEqual({ ...first?.headers });
    expect(second?.path).toBe(first?.path);
    expect(second?.text).toBe(first?.text);
  });

  it("uses the server's names of the token limit and the developer role", async () => {
    const messages: ChatRequest['messages'] = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ];
    const { fake, engine } = await upstream();
    await engine.generate(ask({ messages, max_completion_tokens: 7 }), call());
    expect(sent(fake)).toMatchObject({
      max_tokens: 7,
      messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
    });
    expect(sent(fake)).not.toHaveProperty('max_completion_tokens');

    const hosted = await upstream(undefined, { flavor: 'openai' });
    await hosted.engine.generate(ask({ messages, max_completion_tokens: 7 }), call());
    expect(sent(hosted.fake)).toMatchObject({
      max_completion_tokens: 7,
      messages: [{ role: 'developer' }, { role: 'user' }],
    });
  });

  it("requests a whole answer even if the client's request says stream", async () => {
    const { fake, engine } = await upstream();
    await engine.generate(ask({ stream: true, stream_options: { include_usage: false } }), call());
    expect(sent(fake).stream).toBe(false);
    expect(sent(fake)).not.toHaveProperty('stream_options');
  });
});

describe('several choices', () => {
  const one = { content: 'hi', usage: { prompt_tokens: 9, completion_tokens: 3, reasoning_tokens: 1 } };
  const request = { value: ask({ n: 3, seed: 5 }).value, text: ask({ n: 3, seed: 5 }).text };
  const asked = ({ received }: FakeUpstream) =>
    received.map(({ text }) => JSON.parse(text) as ChatRequest).map(({ n, seed }) => [n, seed]);

  it('are requested one by one where a server counts the tokens of one only', async () => {
    const { fake, engine } = await upstream(complete(one.content, { usage: one.usage }), {
      flavor: 'llama-server',
    });
    const body = await engine.generate(request, call());
    expect(body.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(body.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 9 });
    const chunks = await collect(engine.stream(request, call()));
    expect(new Set(chunks.flatMap(({ choices }) => choices.map(({ index }) => index)))).toEqual(
      new Set([0, 1, 2]),
    );
    expect(chunks.at(-1)!.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 9 });
    expect(asked(fake)).toEqual(Array.from({ length: 6 }, (_, at) => [undefined, 5 + (at % 3)]));
  });

  it('beyond the requested one are dropped, whatever their indexes', async () => {
    const frames = [3, 1, 3].map((index, at) =>
      frame({ content: `${index}` }, at === 0 ? null : 'stop', index),
    );
    const { engine } = await upstream(streamed([...frames, usageFrame, 'data: [DONE]\n\n']), {
      flavor: 'llama-server',
    });
    const chunks = await collect(engine.stream(request, call()));
    const pieces = chunks.flatMap(({ choices }) => choices.map(({ index, delta }) => [index, delta.content]));
    expect(pieces).toEqual([0, 0, 1, 1, 2, 2].map((index) => [index, '3']));
    expect(chunks.slice(0, -1).every(({ choices }) => choices.length > 0)).toBe(true);
  });

  it.each([0, 9e-6])(
    'are requested one by one where a server would repeat itself, at temperature %d',
    async (temperature) => {
      const { fake, engine } = await upstream(complete(one.content, { usage: one.usage }), {
        flavor: 'vllm',
      });
      await engine.generate(ask({ n: 2, temperature }), call());
      expect(asked(fake)).toEqual([
        [undefined, undefined],
        [undefined, undefined],
      ]);
      await engine.generate(ask({ n: 2 }), call());
      await engine.generate(ask({ n: 2, temperature: 1e-5 }), call());
      const [, , unsaid, , least] = asked(fake);
      expect([unsaid, least]).toEqual([
        [2, undefined],
        [2, undefined],
      ]);
    },
  );

  it('are requested one by one where a server ignores n', async () => {
    const { fake, engine } = await upstream(complete(one.content, { usage: one.usage }));
    const body = await engine.generate(request, call());
    expect(body.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'hi'],
      [1, 'hi'],
      [2, 'hi'],
    ]);
    expect(body.usage).toMatchObject({
      prompt_tokens: 9,
      completion_tokens: 9,
      total_tokens: 18,
      completion_tokens_details: { reasoning_tokens: 3 },
    });
    expect(asked(fake)).toEqual([
      [3, 5],
      [undefined, 6],
      [undefined, 7],
    ]);
  });

  it('are requested together where a server makes them', async () => {
    const choices = [0, 1, 2].map((index) => ({
      index,
      message: { content: `${index}` },
      finish_reason: 'stop',
    }));
    const { fake, engine } = await upstream(complete('', { choices }));
    expect((await engine.generate(request, call())).choices).toHaveLength(3);
    expect(fake.received).toHaveLength(1);
  });

  it('stream one after the other, with one usage at the end', async () => {
    const { fake, engine } = await upstream(
      streamed([frame({ content: 'hi' }), frame({}, 'stop'), usageFrame, 'data: [DONE]\n\n']),
    );
    const chunks = await collect(engine.stream(request, call()));
    const last = chunks.pop();
    expect(last?.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 });
    expect(chunks.every(({ usage }) => !usage)).toBe(true);
    expect(
      chunks.flatMap(({ choices }) => choices.map(({ index, finish_reason: end }) => [index, end])),
    ).toEqual(
      [0, 1, 2].flatMap((index) => [
        [index, null],
        [index, 'stop'],
      ]),
    );
    expect(asked(fake)).toHaveLength(3);
  });
});

describe('the answer', () => {
  const choice = (message: object, finish_reason: unknown = 'stop') =>
    complete('', { choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }] });

  it('fills in what the canonical shape requires', async () => {
    const { engine } = await upstream((response) =>
      send(response, 200, {
        choices: [{ message: { content: 'hi' } }],
        usage: { prompt_tokens: 3, completion_tokens: 1 },
      }),
    );
    const body = await engine.generate(ask(), call());
    expect(body).toEqual({
      id: '',
      object: 'chat.completion',
      created: 0,
      model: '',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 1,
        total_tokens: 4,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    });
  });

  it('reads tool calls without ids and with objects as arguments, and corrects the finish reason', async () => {
    const calls = [{ function: { name: 'f', arguments: { a: 1 } } }, { id: 'x', function: { name: 'g' } }];
    const { engine } = await upstream(choice({ content: null, tool_calls: calls }));
    const body = await engine.generate(ask(), call());
    const { message, finish_reason } = body.choices[0]!;
    expect(finish_reason).toBe('tool_calls');
    expect(message.tool_calls).toEqual([
      {
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name: 'f', arguments: '{"a":1}' },
      },
      { id: 'x', type: 'function', function: { name: 'g', arguments: '{}' } },
    ]);
  });

  it('gives calls unique ids where the server gives one to all', async () => {
    const calls = ['f', 'g'].map((name) => ({ id: 'x', function: { name, arguments: '{}' } }));
    const { engine } = await upstream(choice({ content: null, tool_calls: calls }));
    const { message } = (await engine.generate(ask(), call())).choices[0]!;
    expect(message.tool_calls?.map(({ id }) => id)).toEqual(['x', expect.stringMatching(/^call_/)]);
  });

  it('reads a legacy function call, content in parts and both names of reasoning', async () => {
    const { fake, engine } = await upstream(
      choice({ function_call: { name: 'f', arguments: '{}' } }, 'function_call'),
    );
    const legacy = await engine.generate(ask(), call());
    expect(legacy.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [{ function: { name: 'f' } }] },
    });
    fake.answer = choice({
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      reasoning_content: 'why',
    });
    const parts = await engine.generate(ask(), call());
    expect(parts.choices[0]?.message).toMatchObject({
      content: 'ab',
      reasoning: 'why',
      reasoning_content: 'why',
    });
  });

  const endings: [given: unknown, reason: string][] = [
    [null, 'stop'],
    ['tool_calls', 'stop'],
    ...['eos', 'STOP', 'COMPLETE', 'end_turn', 'stop_sequence', 'pause_turn', 'a new reason'].map(
      (given): [string, string] => [given, 'stop'],
    ),
    ...[
      'length',
      'max_tokens',
      'MAX_TOKENS',
      'FINISH_REASON_MAX_TOKENS',
      'FinishReason.MAX_TOKENS',
      'model_length',
      'model_context_window_exceeded',
      'ERROR_LIMIT',
      'max_output_tokens',
      'repetition',
    ].map((given): [string, string] => [given, 'length']),
    ...[
      'content_filter',
      'content_filter: PROHIBITED_CONTENT',
      'content-filter',
      'sensitive',
      'SAFETY',
      'RECITATION',
      'PROHIBITED_CONTENT',
      'BLOCKLIST',
      'SPII',
      'ERROR_TOXIC',
      'refusal',
    ].map((given): [string, string] => [given, 'content_filter']),
  ];

  it.each(endings)('maps the finish reason %j of a text to %s', async (given, reason) => {
    const { fake, engine } = await upstream(choice({ content: 'hi' }, given));
    const body = await engine.generate(ask(), call());
    expect(body.choices[0]?.finish_reason).toBe(reason);
    if (given === null) return;
    fake.answer = streamed([frame({ content: 'hi' }), frame({}, given as string), 'data: [DONE]\n\n']);
    const chunks = await collect(engine.stream(ask(), call()));
    expect(chunks.flatMap(({ choices }) => choices).at(-1)?.finish_reason).toBe(reason);
  });

  it.each(['tool_use', 'TOOL_CALL', 'FUNCTION_CALL', 'stop', 'end_turn'])(
    'maps the finish reason %s of an answer with a call to tool_calls',
    async (given) => {
      const calls = [{ id: 'x', function: { name: 'f', arguments: '{}' } }];
      const { engine } = await upstream(choice({ content: null, tool_calls: calls }, given));
      const body = await engine.generate(ask(), call());
      expect(body.choices[0]?.finish_reason).toBe('tool_calls');
    },
  );

  it.each<[string, string]>([
    [
      'by itself',
      `data: ${JSON.stringify({ choices: [], usage: { input_tokens: '1000', output_tokens: 10 } })}\n\n`,
    ],
    [
      'in a choice',
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 1000, completion_tokens: 10 } }] })}\n\n`,
    ],
  ])('reads a usage with other names at the end of a stream: %s', async (_, last) => {
    const { engine } = await upstream(streamed([frame({ content: 'ok' }, 'stop'), last, 'data: [DONE]\n\n']));
    const chunks = await collect(engine.stream(ask(), call()));
    expect(chunks.at(-1)!.usage).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 10 });
  });

  it('logs an unknown finish reason', async () => {
    const log = createLogBook();
    const { engine } = await upstream(choice({ content: 'hi' }, 'a new reason'), { log });
    await engine.generate(ask(), call());
    expect(log.warnings.map(({ message }) => message)).toEqual([
      'an answer of the upstream was repaired: finish reason is unknown',
    ]);
  });

  it('reads an answer filtered by Gemini, which has no message', async () => {
    const filtered = 'content_filter: PROHIBITED_CONTENT';
    const { fake, engine } = await upstream(
      complete('', { choices: [{ index: 0, finish_reason: filtered }] }),
    );
    const body = await engine.generate(ask(), call());
    expect(body.choices[0]).toMatchObject({ message: { content: null }, finish_reason: 'content_filter' });
    fake.answer = streamed([frame({}, filtered), 'data: [DONE]\n\n']);
    const chunks = await collect(engine.stream(ask(), call()));
    expect(chunks[0]?.choices[0]?.finish_reason).toBe('content_filter');
  });

  it.each<[string, object, object, object]>([
    ['vLLM', { stop_reason: 'END' }, {}, { stop_reason: 'END' }],
    ['vLLM', { stop_reason: 151_645 }, {}, {}],
    ['vLLM', { stop_reason: null }, {}, {}],
    ['SGLang', { matched_stop: 'END' }, {}, { stop_reason: 'END' }],
    ['SGLang', { matched_stop: 2 }, {}, {}],
    ['llama.cpp', {}, { stopping_word: 'END' }, { stop_reason: 'END' }],
    ['llama.cpp', {}, { stopping_word: '' }, {}],
    ['others', {}, {}, {}],
  ])('passes on a matched stop sequence, but no token: %s %j %j', async (_, inChoice, beside, reported) => {
    const message = { role: 'assistant', content: 'hi' };
    const choices = [{ index: 0, message, finish_reason: 'stop', ...inChoice }];
    const plain = await upstream(complete('', { choices, ...beside }));
    const body = await plain.engine.generate(ask(), call());
    const { stop_reason: __, ...rest } = { ...body.choices[0]! };
    expect(body.choices[0]).toEqual({ ...rest, ...reported });
    const ending = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...inChoice }], ...beside };
    const inPieces = await upstream(
      streamed([frame({ content: 'hi' }), `data: ${JSON.stringify(ending)}\n\n`, 'data: [DONE]\n\n']),
    );
    const chunks = await collect(inPieces.engine.stream(ask(), call()));
    const last = chunks.findLast(({ choices: ended }) => ended.length > 0)!.choices[0]!;
    expect('stop_reason' in last ? { stop_reason: last.stop_reason } : {}).toEqual(reported);
  });

  it('streams several choices in the canonical shape', async () => {
    const piece = (tool: object) => frame({ tool_calls: [tool] });
    const { engine } = await upstream(
      streamed([
        frame({ role: 'assistant', content: '', reasoning_content: 'hm' }),
        piece({ index: 0, function: { name: 'f', arguments: '' } }),
        piece({ index: 0, function: { arguments: '{"a"' } }),
        piece({ index: 0, function: { arguments: ':1}' } }),
        frame({ content: 'other' }, null, 1),
        frame({}, 'stop'),
        frame({}, 'length', 1),
        'data: [DONE]\n\n',
      ]),
    );
    const chunks = await collect(engine.stream(ask({ n: 2 }), call()));
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({
      role: 'assistant',
      reasoning: 'hm',
      reasoning_content: 'hm',
    });
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas[0]).toMatchObject({ index: 0, id: expect.stringMatching(/^call_/), type: 'function' });
    expect(deltas.slice(1).every((delta) => !('id' in delta))).toBe(true);
    expect(deltas.map((delta) => delta.function?.arguments).join('')).toBe('{"a":1}');
    const ends = chunks.flatMap(({ choices }) => choices).filter(({ finish_reason }) => finish_reason);
    expect(ends.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'tool_calls'],
      [1, 'length'],
    ]);
    expect(textOf(chunks.filter(({ choices }) => choices[0]?.index === 1))).toBe('other');
  });

  it('ends a stream with tool calls by tool_calls, whatever the server reports', async () => {
    for (const reported of ['stop', 'tool_calls', 'function_call', 'eos']) {
      const { engine } = await upstream(
        streamed([
          frame({ content: 'I look it up.' }),
          frame({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }),
          frame({}, reported),
        ]),
      );
      const chunks = await collect(engine.stream(ask(), call()));
      const ends = chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
      expect(ends.filter(Boolean), reported).toEqual(['tool_calls']);
    }
  });

  it('separates calls at one position, and joins pieces that repeat the id', async () => {
    const piece = (id: string, name: string, args: string) =>
      frame({ tool_calls: [{ index: 0, id, function: { name, arguments: args } }] });
    const { engine } = await upstream(
      streamed([
        piece('a', 'f', '{"n"'),
        piece('a', 'f', ':1}'),
        frame({ reasoning: 'and' }),
        piece('b', 'f', '{}'),
        frame({ tool_calls: [{ index: 0, function: { arguments: ' ' } }] }),
        frame({}, 'tool_calls'),
      ]),
    );
    const chunks = await collect(engine.stream(ask(), call()));
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas.map(({ index, id, function: called }) => [index, id, called?.arguments])).toEqual([
      [0, 'a', '{"n"'],
      [0, undefined, ':1}'],
      [1, 'b', '{}'],
      [1, undefined, ' '],
    ]);
  });

  it('ends a streamed call without arguments with an empty object, unless it was cut', async () => {
    const piece = (index: number, id: string, args?: string) =>
      frame({ tool_calls: [{ index, id, function: { name: 'f', arguments: args } }] });
    const written = async (finish: string) => {
      const pieces = [piece(0, 'a', ''), piece(1, 'b'), piece(2, 'c', '{"n":1}'), frame({}, finish)];
      const { engine } = await upstream(streamed(pieces));
      const texts: string[] = [];
      for (const { choices } of await collect(engine.stream(ask(), call())))
        for (const { index, function: called } of choices[0]?.delta.tool_calls ?? [])
          texts[index] = (texts[index] ?? '') + called?.arguments;
      return texts;
    };
    expect(await written('stop')).toEqual(['{}', '{}', '{"n":1}']);
    expect(await written('length')).toEqual(['', '', '{"n":1}']);
  });

  it('reads a streamed legacy function call, and a refusal', async () => {
    const { engine } = await upstream(
      streamed([
        frame({ refusal: 'No' }),
        frame({ refusal: '.' }),
        frame({ function_call: { name: 'f', arguments: '' } }),
        frame({ function_call: { arguments: '{}' } }),
        frame({}, 'function_call'),
      ]),
    );
    const chunks = await collect(engine.stream(ask(), call()));
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map(({ refusal }) => refusal ?? '').join('')).toBe('No.');
    expect(deltas.flatMap(({ tool_calls: calls = [] }) => calls)).toEqual([
      {
        index: 0,
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name: 'f', arguments: '{}' },
      },
    ]);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it.each([
    'abort',
    'error',
    'insufficient_system_resource',
    'function_call_filter: MALFORMED_FUNCTION_CALL',
    'MALFORMED_FUNCTION_CALL',
    'network_error',
    'ERROR',
    'USER_CANCEL',
  ])('rejects an answer that ended with %s, plain or streamed', async (finish_reason) => {
    const expected = { code: 'invalid_upstream_response', blame: ambiguous };
    const plain = await upstream(choice({ content: 'The answer is' }, finish_reason));
    await expect(plain.engine.generate(ask(), call())).rejects.toMatchObject(expected);
    const inPieces = await upstream(
      streamed([frame({ content: 'The answer is' }), frame({}, finish_reason)]),
    );
    await expect(collect(inPieces.engine.stream(ask(), call()))).rejects.toMatchObject(expected);
  });

  it('gives log probabilities every key, and drops invalid tokens', async () => {
    const reported = {
      content: [
        {
          id: 5,
          token: 'a',
          logprob: -0.5,
          bytes: [97],
          top_logprobs: [{ token: 'b', logprob: -1 }, { token: 'c' }],
        },
        { token: 'd', logprob: -2, bytes: ['x'] },
        { token: 'e', logprob: null },
        null,
      ],
    };
    const expected = {
      content: [
        { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [{ token: 'b', logprob: -1, bytes: null }] },
        { token: 'd', logprob: -2, bytes: null, top_logprobs: [] },
      ],
      refusal: null,
    };
    const message = { role: 'assistant', content: 'ad' };
    const plain = await upstream(
      complete('', { choices: [{ index: 0, message, finish_reason: 'stop', logprobs: reported }] }),
    );
    expect(
      (await plain.engine.generate(ask({ logprobs: true, top_logprobs: 1 }), call())).choices[0]?.logprobs,
    ).toEqual(expected);
    const piece = { choices: [{ index: 0, delta: message, finish_reason: 'stop', logprobs: reported }] };
    const inPieces = await upstream(streamed([`data: ${JSON.stringify(piece)}\n\n`]));
    const [chunk] = await collect(inPieces.engine.stream(ask({ logprobs: true, top_logprobs: 1 }), call()));
    expect(chunk?.choices[0]?.logprobs).toEqual(expected);
  });

  it.each<[string, object, object | undefined]>([
    ['in the details', { completion_tokens_details: { reasoning_tokens: 2 } }, { reasoning_tokens: 2 }],
    ['beside them, as SGLang does', { reasoning_tokens: 2 }, { reasoning_tokens: 2 }],
    ['as more than the answer has', { reasoning_tokens: 9 }, { reasoning_tokens: 3 }],
    ['as nonsense', { completion_tokens_details: { reasoning_tokens: 'two' } }, undefined],
    ['not at all', { completion_tokens_details: null }, undefined],
  ])('passes on the tokens of reasoning, reported %s', async (_, more, reported) => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12, ...more };
    const { engine } = await upstream(complete('hi', { usage }));
    const body = await engine.generate(ask(), call());
    expect(body.usage.completion_tokens_details).toEqual(reported);
  });

  it('estimates a usage of zero', async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const { engine } = await upstream(complete('Hello there.', { usage }));
    const body = await engine.generate(ask(), call());
    expect(body.usage.prompt_tokens).toBeGreaterThan(5);
    expect(body.usage.completion_tokens).toBe(3);
    const cut = await upstream(complete('', { usage: { ...usage, prompt_tokens: 4 } }));
    expect((await cut.engine.generate(ask(), call())).usage.completion_tokens).toBe(0);
  });

  it('pauses the server for a slow reader', async () => {
    const frames = Array.from({ length: 400 }, (_, i) => frame({ content: `${i} `.padEnd(4096, 'x') }));
    const { engine } = await upstream(streamed([...frames, frame({}, 'stop')]));
    let count = 0;
    for await (const chunks of engine.stream(ask(), call())) {
      count += chunks.filter(({ choices }) => choices[0]?.delta.content).length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(count).toBe(400);
  });
});

it('starts while the server is down and serves once it is up', async () => {
  const fake = await startFakeUpstream();
  await fake.close();
  const engine = engineAt(fake.url);
  open.push(engine);
  await engine.start();
  await expect(engine.generate(ask(), call())).rejects.toMatchObject({ code: 'upstream_unreachable' });
  expect(await engine.countTokens(ask().value)).toBeUndefined();
  expect(completion()).toBeDefined();
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import { createDirectedEngine } from '../support/scripted/directed-engine.ts';
import { type CallResult, type RunningServer, startServer } from './support/start-server.ts';

// Rows of reliability.md, "Bad input", that apply to all three generation formats. test/fuzz covers other bad input.

type Json = Record<string, unknown>;

interface Format {
  path: string;
  /** Returns a valid request; `input` is the field of its conversation. */
  ask: (more?: Json) => Json;
  input: string;
  /** Name of the field for the token limit. */
  limit: string;
  tool: (name: string) => Json;
  choice: (name: string) => unknown;
  /** Conversation with a tool result, and one with an image. */
  result: Json;
  picture: (url: string) => Json;
}

const schema = { type: 'object' };

const formats: Format[] = [
  {
    path: '/v1/chat/completions',
    ask: (more) => ({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }], ...more }),
    input: 'messages',
    limit: 'max_completion_tokens',
    tool: (name) => ({ type: 'function', function: { name, parameters: schema } }),
    choice: (name) => ({ type: 'function', function: { name } }),
    result: { role: 'tool', tool_call_id: 'call_1', content: 'x' },
    picture: (url) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }),
  },
  {
    path: '/v1/responses',
    ask: (more) => ({ model: 'tiny', input: 'hi', ...more }),
    input: 'input',
    limit: 'max_output_tokens',
    tool: (name) => ({ type: 'function', name, parameters: schema }),
    choice: (name) => ({ type: 'function', name }),
    result: { type: 'function_call_output', call_id: 'call_1', output: 'x' },
    picture: (url) => ({ role: 'user', content: [{ type: 'input_image', image_url: url }] }),
  },
  {
    path: '/v1/messages',
    ask: (more) => ({ model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], ...more }),
    input: 'messages',
    limit: 'max_tokens',
    tool: (name) => ({ name, input_schema: schema }),
    choice: (name) => ({ type: 'tool', name }),
    result: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }] },
    picture: (url) => ({ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }),
  },
];

let app: RunningServer;
let small: RunningServer;
/** Requests that reached the engine. */
const asked: string[] = [];
beforeAll(async () => {
  app = await startServer({
    engine: (scripted) => ({
      ...scripted,
      generate(request, call) {
        asked.push(request.text);
        return scripted.generate(request, call);
      },
    }),
  });
  small = await startServer({
    engine: () => createDirectedEngine({ clock: systemClock, contextLength: 20 }),
  });
});
afterAll(async () => {
  await app.stop();
  await small.stop();
});

describe.each(formats)('POST $path', ({ path, ask, input, limit, tool, choice, result, picture }) => {
  const post = (json: Json): Promise<CallResult> => app.call('POST', path, { json });
  const send = (body: string): Promise<CallResult> =>
    app.call('POST', path, { body, headers: { 'content-type': 'application/json' } });
  /** Status and reported location of an error. */
  const refusal = async (json: Json) => {
    const { status, json: body } = await post(json);
    return [status, body.error.param];
  };

  it.each([
    ['limit', -1],
    ['limit', 0],
    ['limit', 1e12],
    ['limit', 1.5],
    ['limit', '5'],
    ['temperature', 1e308],
    ['temperature', -1],
    ['top_p', 1.01],
    ['stream', 'yes'],
    ['model', ''],
    ['model', 'x'.repeat(257)],
  ])('B21: rejects %s %j', async (name, value) => {
    const field = name === 'limit' ? limit : name;
    expect(await refusal(ask({ [field]: value }))).toEqual([422, field]);
  });

  it.each(['1e400', '-1e400'])('B22: rejects the too large number %s in fields that use it', async (text) => {
    const { status, json } = await send(`{"temperature":${text},${JSON.stringify(ask()).slice(1)}`);
    expect([status, json.error.param]).toEqual([422, 'temperature']);
  });

  it('B23: rejects duplicate keys at any depth', async () => {
    const text = JSON.stringify(ask());
    const deep = `{"metadata":{"a":"1","\\u0061":"2"},${text.slice(1)}`;
    for (const body of [text.replace('{', '{"model":"other",'), deep]) {
      const { status, json } = await send(body);
      expect([status, json.error.code]).toEqual([422, 'duplicate_key']);
    }
  });

  it('B24, C13: rejects deep nesting without parsing it, whatever follows', async () => {
    for (const opening of ['[', '{"a":']) {
      const { status, json } = await send(`{"x":${opening.repeat(100_000)}`);
      expect([status, json.error.code]).toEqual([422, 'too_deep']);
    }
  });

  it('B25, C28: treats __proto__ and constructor as data', async () => {
    const text = JSON.stringify(ask({ metadata: {} }));
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const { status } = await send(`{"${name}":{"polluted":true},${text.slice(1)}`);
      expect(status, name).toBe(200);
    }
    expect(({} as Json)['polluted']).toBeUndefined();
    expect(
      (await send('{"__proto__":{"model":"tiny","messages":[],"input":"x","max_tokens":1}}')).status,
    ).toBe(422);
  });

  it('B26: passes NUL and lone surrogates to the engine unchanged', async () => {
    const text = JSON.stringify(ask()).replace('"hi"', '"\\u0000\\ud800 hi"');
    expect((await send(text)).status).toBe(200);
    expect(JSON.parse(asked.at(-1)!).messages[0].content).toBe('\u0000\ud800 hi');
  });

  it('B42: requires valid, unique and not too many tool names that include the forced tool', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => tool(`t${at}`));
    expect(await refusal(ask({ tools: many }))).toEqual([422, 'tools']);
    for (const names of [['a b'], [''], ['é'], ['x'.repeat(129)]]) {
      const { status, json } = await post(ask({ tools: names.map(tool) }));
      expect([status, json.error.param]).toEqual([
        422,
        expect.stringMatching(/^tools\[0\](\.function)?\.name$/),
      ]);
    }
    const twice = await refusal(ask({ tools: ['a', 'b', 'a'].map(tool) }));
    expect(twice).toEqual([422, expect.stringMatching(/^tools\[2\]/)]);
    const absent = await refusal(ask({ tools: [tool('a')], tool_choice: choice('b') }));
    expect(absent).toEqual([422, expect.stringMatching(/^tool_choice(\.function)?\.name$/)]);
  });

  it('B43: rejects an invalid conversation with the location', async () => {
    const refused = async (conversation: unknown) =>
      (await refusal(ask({ [input]: conversation }))) as [number, string];
    expect(await refused([])).toEqual([422, input]);
    expect(await refused(null)).toEqual([422, input]);
    expect(await refused({ role: 'user', content: 'x' })).toEqual([422, input]);
    expect(await refused([{ role: 'wizard', content: 'x' }])).toEqual([422, `${input}[0].role`]);
    for (const content of [null, 5, [], [{}], [{ type: 'text' }], [{ type: 'magic' }]])
      expect(await refused([{ role: 'user', content }])).toEqual([
        422,
        expect.stringContaining(`${input}[0].content`),
      ]);
    expect(await refused([{ role: 'user', content: 'x' }, result])).toEqual([
      422,
      expect.stringMatching(/\[1\].*(tool_call_id|call_id|tool_use_id)$/),
    ]);
    expect(await refused(Array.from({ length: 100_000 }, () => ({})))).toEqual([422, input]);
  });

  it.each([
    'file:///etc/passwd',
    'http://169.254.169.254/latest/meta-data',
    'https://example.com/a.png',
    '\\\\host\\share',
    'javascript:alert(1)',
    '',
  ])('B44: never fetches the image URL %j', async (url) => {
    const { status, json } = await post(ask({ [input]: [picture(url)] }));
    expect([status, json.error.param]).toEqual([422, expect.stringContaining(`${input}[0].content[0]`)]);
    expect((await post(ask({ [input]: [picture('data:image/png;base64,aGk=')] }))).status).toBe(200);
  });

  it('B45: 400 for a prompt longer than the context, with both lengths, plain and streamed', async () => {
    const long = 'word '.repeat(50);
    for (const stream of [false, true]) {
      const json = ask({ [input]: [{ role: 'user', content: long }], stream });
      const { status, json: body } = await small.call('POST', path, { json });
      expect([status, body.error.code]).toEqual([400, 'context_length_exceeded']);
      expect(body.message).toMatch(/\d+ tokens.* 20/);
    }
  });
});

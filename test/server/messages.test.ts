import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import type { MessageEvent } from '../../src/wire/messages/messages.ts';
import { collectMessage } from '../support/collect-message.ts';
import { createBilledKey } from './support/billed-key.ts';
import { type CallResult, type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const path = '/v1/messages';
const ask = (content: string, more: object = {}) => ({
  model: 'tiny',
  max_tokens: 100,
  messages: [{ role: 'user', content }],
  ...more,
});
const post = (json: unknown, headers = {}): Promise<CallResult> => app.call('POST', path, { json, headers });
const count = (json: unknown): Promise<CallResult> => app.call('POST', `${path}/count_tokens`, { json });

const weather = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** Returns the events; each must be named like the type of its data. */
function eventsOf(text: string): Json[] {
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      const parsed = JSON.parse(data!);
      expect(parsed.type).toBe(name);
      return parsed;
    });
}

describe('POST /v1/messages', () => {
  it('200: returns a message, charged under its request ID', async () => {
    const { key, billed } = await createBilledKey(app);
    const asked = ask('hello [[tokens 3]]', { system: 'be kind' });
    const { status, json } = await app.call('POST', path, { json: asked, key });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      type: 'message',
      role: 'assistant',
      model: 'tiny',
      content: [{ type: 'text', text: 'word word word' }],
      stop_reason: 'end_turn',
      usage: { output_tokens: 3 },
    });
    await expect.poll(billed).toEqual({ requests: 1, outputTokens: 3 });
  });

  it('200: counts cached tokens separately', async () => {
    const long = ask(`the same beginning ${'again and '.repeat(30)}`);
    const first = (await post(long)).json.usage;
    const second = (await post(long)).json.usage;
    expect(first.cache_read_input_tokens).toBe(0);
    expect(second.cache_read_input_tokens).toBeGreaterThan(0);
    expect(second.input_tokens + second.cache_read_input_tokens).toBe(first.input_tokens);
  });

  it('200: stops at max_tokens and at a stop sequence', async () => {
    const cut = (await post(ask('hello', { max_tokens: 2 }))).json;
    expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(['max_tokens', 2]);
    const stopped = (await post(ask('one STOP two', { stop_sequences: ['STOP'] }))).json;
    expect(stopped.content[0].text).toBe('Echo: one ');
    expect([stopped.stop_reason, stopped.stop_sequence]).toEqual(['stop_sequence', 'STOP']);
    const streamed = await post(ask('one STOP two', { stop_sequences: ['two', 'STOP'], stream: true }));
    expect(collectMessage(eventsOf(streamed.text))).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'STOP',
    });
  });

  it('200: calls a tool and reads its result', async () => {
    const asked = ask('how is it? [[tool get_weather {"city":"Rome"}]]', { tools: [weather] });
    const { json } = await post(asked);
    expect(json).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', name: 'get_weather', input: { city: 'Rome' } }],
    });
    const [{ id }] = json.content;
    const next = await post({
      ...asked,
      messages: [
        ...asked.messages,
        { role: 'assistant', content: json.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: id, content: '12' },
            { type: 'text', text: 'so?' },
          ],
        },
      ],
    });
    expect(next.json.content).toMatchObject([{ type: 'text', text: 'Echo: so?' }]);
  });

  it('200: guarantees a forced tool and a schema', async () => {
    const tool_choice = { type: 'tool', name: 'get_weather' };
    const forced = (await post(ask('hello', { tools: [weather], tool_choice }))).json;
    expect(forced.content[0]).toMatchObject({ type: 'tool_use', input: { city: expect.any(String) } });
    const format = { type: 'json_schema', schema: weather.input_schema };
    const formed = (await post(ask('hello', { output_config: { format } }))).json;
    expect(JSON.parse(formed.content[0].text)).toHaveProperty('city');
  });

  it('200: streams the same message in parts', async () => {
    const { headers, text } = await post(ask('one two three four', { stream: true }));
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(headers.get('request-id')).toBe(headers.get('x-request-id'));
    const events: MessageEvent[] = eventsOf(text);
    const message = collectMessage(events);
    expect(message).toMatchObject({
      model: 'tiny',
      content: [{ type: 'text', text: 'Echo: one two three four' }],
      stop_reason: 'end_turn',
    });
    const [start] = events as Json[];
    const { input_tokens, cache_read_input_tokens } = message.usage;
    expect(start.message.usage.input_tokens).toBe(input_tokens + cache_read_input_tokens);
  });

  it('200: streams a tool call', async () => {
    const asked = ask('[[tool get_weather {"city":"Rome"}]]', { tools: [weather], stream: true });
    const message = collectMessage(eventsOf((await post(asked)).text));
    expect(message).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', input: { city: 'Rome' } }],
    });
  });

  it('ends a stream that fails in the middle with an error event', async () => {
    const { status, headers, text } = await post(ask('[[cut 2]] x', { stream: true }));
    const last = eventsOf(text).at(-1);
    expect(status).toBe(200);
    expect(last).toMatchObject({
      type: 'error',
      error: { type: 'api_error', code: 'invalid_upstream_response', message: expect.any(String) },
      request_id: headers.get('request-id'),
    });
  });

  it('returns a regular error before the first event', async () => {
    const { status, json } = await post(ask('[[fail 503]]', { stream: true }));
    expect([status, json.error.type]).toEqual([503, 'overloaded_error']);
    expect((await post({ ...ask('x', { stream: true }), model: 'nope' })).status).toBe(404);
  });

  it('422: names the location as the client wrote it', async () => {
    const asked = ask('x', {
      tools: [{ name: 'a', strict: true, input_schema: { type: 'object', properties: 5 } }],
    });
    for (const stream of [false, true]) {
      const { status, json } = await post({ ...asked, stream });
      expect(status).toBe(422);
      const param = 'tools[0].input_schema#/properties';
      expect(json.error).toMatchObject({ type: 'invalid_request_error', param });
      expect(json.message).toMatch(/^tools\[0\]\.input_schema#\/properties: /);
    }
    expect((await post([])).status).toBe(422);
    expect(
      (await app.call('POST', path, { body: '{', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(422);
  });

  it.each([
    ['an unknown model', () => post({ ...ask('x'), model: 'nope' }), 404, 'not_found_error'],
    ['a failing engine', () => post(ask('[[fail 500]]')), 502, 'api_error'],
    ['a saturated engine', () => post(ask('[[fail 503]]')), 503, 'overloaded_error'],
    ['no key', () => app.call('POST', path, { key: null, json: ask('x') }), 401, 'authentication_error'],
    ['another method', () => app.call('GET', path), 405, 'invalid_request_error'],
    ['an unknown route', () => app.call('POST', `${path}/nowhere`, { json: {} }), 404, 'not_found_error'],
    [
      'another type of body',
      () => app.call('POST', path, { body: 'x', headers: { 'content-type': 'text/plain' } }),
      415,
      'invalid_request_error',
    ],
    ['too many bytes', () => post(ask('x'.repeat(1_000_001))), 413, 'invalid_request_error'],
  ])('%s has the error type of this format', async (_what, send, status, type) => {
    const answered = await send();
    expect([answered.status, answered.json.type, answered.json.error.type]).toEqual([status, 'error', type]);
  });

  it('keeps the error types of other routes', async () => {
    const chat = await app.call('POST', '/v1/chat/completions', { json: { ...ask('x'), model: 'nope' } });
    expect(chat.json.error.type).toBe('invalid_request_error');
  });

  it('403: a model that the key may not use', async () => {
    const [org] = await app.accounts.orgs.list();
    const { key } = await app.accounts.keys.create(serverActor, { orgId: org!.id, models: ['vectors'] });
    for (const at of [path, `${path}/count_tokens`]) {
      const { status, json } = await app.call('POST', at, { json: ask('x'), key });
      expect([status, json.error.type, json.error.code]).toEqual([
        403,
        'permission_error',
        'model_not_allowed',
      ]);
    }
  });

  it('echoes any version', async () => {
    const { headers } = await post(ask('x'), { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a,b' });
    expect(headers.get('anthropic-version')).toBe('2026-10-21');
  });
});

describe('POST /v1/messages/count_tokens', () => {
  it('200: counts exactly the input tokens of the message', async () => {
    const { max_tokens: _, ...asked } = ask('how many are these?', { system: 'x', tools: [weather] });
    const { status, json } = await count(asked);
    expect(status).toBe(200);
    const { usage } = (await post({ ...asked, max_tokens: 5 })).json;
    expect(json).toEqual({ input_tokens: usage.input_tokens + usage.cache_read_input_tokens });
  });

  it('costs nothing and generates nothing', async () => {
    const { calls } = app.engine.stats();
    const { key, billed } = await createBilledKey(app);
    await app.call('POST', `${path}/count_tokens`, { json: ask('x'), key });
    expect(app.engine.stats().calls).toBe(calls);
    // Charges are written in order: one of a later request shows that there was none before.
    await app.call('POST', path, { json: ask('[[tokens 3]]'), key });
    await expect.poll(billed).toEqual({ requests: 1, outputTokens: 3 });
  });

  it('422, 404: same as for the message itself', async () => {
    expect((await count({ model: 'tiny' })).json.error).toMatchObject({ param: 'messages' });
    expect((await count({ ...ask('x'), model: 'nope' })).json.error.type).toBe('not_found_error');
    expect((await count({ ...ask('x'), model: 'vectors' })).status).toBe(404);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { createBilledKey } from './support/billed-key.ts';
import { openRaw } from './support/raw-http.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { type CallResult, type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const path = '/v1/chat/completions';
const ask = (content: string, more: object = {}) => ({
  model: 'tiny',
  messages: [{ role: 'user', content }],
  ...more,
});
const post = (json: unknown, headers = {}): Promise<CallResult> => app.call('POST', path, { json, headers });

/** Returns the data of each event, parsed if it is JSON. */
function eventsOf(text: string): Json[] {
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice(6))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)));
}

describe('the log line of a request', () => {
  it.each([false, true])(
    'contains the upstream, the number of calls and the usage; a stream: %j',
    async (stream) => {
      const { headers, text } = await post(ask('hello [[tokens 3]]', { stream }));
      expect(text).toContain('word');
      const id = headers.get('x-request-id');
      const line = () => app.logged.find(({ fields }) => fields['request_id'] === id);
      await expect.poll(line).toBeDefined();
      expect(line()?.fields).toMatchObject({
        model: 'tiny',
        server: 'only',
        servers_asked: 1,
        answer_id: expect.any(String),
        queued_ms: expect.any(Number),
        first_ms: expect.any(Number),
        output_tokens: 3,
      });
    },
  );

  it('names the upstream that failed, and its model', async () => {
    const { status, headers } = await post(ask('[[fail 500]]'));
    expect(status).toBe(502);
    const id = headers.get('x-request-id');
    const line = () => app.logged.find(({ fields }) => fields['request_id'] === id);
    await expect.poll(line).toBeDefined();
    expect(line()?.fields).toMatchObject({ model: 'tiny', server: 'only', code: expect.any(String) });
    expect(line()?.fields['output_tokens']).toBeUndefined();
  });

  it('names no upstream if none was called', async () => {
    const { headers } = await post(ask('hello', { model: 'nope' }));
    const id = headers.get('x-request-id');
    const line = () => app.logged.find(({ fields }) => fields['request_id'] === id);
    await expect.poll(line).toBeDefined();
    expect(line()?.fields).not.toHaveProperty('servers_asked');
  });
});

describe('POST /v1/chat/completions', () => {
  it('200: an answer in the documented shape', async () => {
    const { status, headers, json } = await post(ask('hello [[tokens 3]]'));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^chatcmpl_/),
      object: 'chat.completion',
      model: 'tiny',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'word word word' }, finish_reason: 'stop' },
      ],
      usage: { completion_tokens: 3, prompt_tokens_details: { cached_tokens: expect.any(Number) } },
    });
    expect(json.usage.total_tokens).toBe(json.usage.prompt_tokens + json.usage.completion_tokens);
  });

  it('200: answers an alias with the ID of its model, and treats stream: false as plain', async () => {
    expect((await post({ ...ask('x'), model: 'default', stream: false })).json.model).toBe('tiny');
  });

  it('200: charges the request once', async () => {
    const { key, billed } = await createBilledKey(app);
    await app.call('POST', path, { json: ask('x [[tokens 7]]'), key });
    await expect.poll(billed).toEqual({ requests: 1, outputTokens: 7 });
  });

  it('422: invalid JSON, wrong types and an empty body, each with the location', async () => {
    expect(
      (await app.call('POST', path, { body: '{"model":', headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(422);
    expect(
      (await app.call('POST', path, { body: '', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(422);
    for (const body of [null, [], 'text', 5])
      expect((await post(body)).status, JSON.stringify(body)).toBe(422);
    const { status, json } = await post({ model: 'tiny', messages: [{ role: 'nobody', content: 'x' }] });
    expect(status).toBe(422);
    expect(json.error).toMatchObject({ code: 'validation_error', param: 'messages[0].role' });
  });

  it('422: invalid UTF-8', async () => {
    const body = new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]);
    const { status, json } = await app.call('POST', path, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect([status, json.error.code]).toEqual([422, 'invalid_encoding']);
  });

  it('404: an unknown model, and one without chat', async () => {
    expect((await post({ ...ask('x'), model: 'nope' })).json.error).toMatchObject({
      code: 'model_not_found',
      param: 'model',
    });
    expect((await post({ ...ask('x'), model: 'vectors' })).status).toBe(404);
  });

  it('403: a model that the key may not use, and a key without the scope', async () => {
    const [org] = await app.accounts.orgs.list();
    const { key } = await app.accounts.keys.create(serverActor, { orgId: org!.id, models: ['vectors'] });
    expect((await app.call('POST', path, { json: ask('x'), key })).json.error.code).toBe('model_not_allowed');
    const { key: files } = await app.accounts.keys.create(serverActor, { orgId: org!.id, scopes: ['files'] });
    expect((await app.call('POST', path, { json: ask('x'), key: files })).json.error.code).toBe(
      'permission_denied',
    );
  });

  it('413: a body over the limit, with or without a declared length', async () => {
    const big = JSON.stringify(ask('x'.repeat(1_000_001)));
    const headers = { 'content-type': 'application/json' };
    expect((await app.call('POST', path, { body: big, headers })).status).toBe(413);
    const chunked = new Blob([big]).stream();
    expect((await app.call('POST', path, { body: chunked, headers })).status).toBe(413);
  });

  it('413: as soon as the limit is exceeded, while the client still sends, on a connection that stays open', async () => {
    const connection = await openRaw(app.url);
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
    for (let i = 0; i < 11; i++) connection.write(chunk);
    expect(await connection.until('"request_id"')).toMatch(/^HTTP\/1.1 413 /);
    connection.write('0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await connection.until('"status":"ok"')).toContain('200 OK');
    connection.socket.destroy();
  });

  it('415: another content type, a missing one, and a compressed body', async () => {
    const wrong: Record<string, string>[] = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': 'nonsense' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    ];
    for (const headers of wrong) {
      const { status, json } = await app.call('POST', path, { body: JSON.stringify(ask('x')), headers });
      expect([status, json.error.code], JSON.stringify(headers)).toEqual([415, 'unsupported_media_type']);
    }
    const bytes = new TextEncoder().encode(JSON.stringify(ask('x')));
    expect((await app.call('POST', path, { body: bytes })).status).toBe(415);
  });

  it('200: accepts a charset and a byte order mark', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=UTF-8' };
    expect(
      (await app.call('POST', path, { body: `\ufeff${JSON.stringify(ask('x'))}`, headers })).status,
    ).toBe(200);
  });

  it('502: a broken engine reveals no internals', async () => {
    const { status, json } = await post(ask('[[fail 500]]'));
    expect(status).toBe(502);
    expect(json.error.type).toBe('server_error');
    expect(JSON.stringify(json)).not.toMatch(/\.ts|node_modules|at /);
  });
});

describe('POST /v1/chat/completions as a stream', () => {
  const stream = (content: string, more: object = {}) => post(ask(content, { stream: true, ...more }));

  it('sends chunks with one ID, the finish reason and [DONE], and usage only on request', async () => {
    const { status, headers, text } = await stream('[[tokens 4]]');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(headers.get('x-request-id')).toBe(headers.get('request-id'));
    expect(headers.get('cache-control')).toBe('no-cache');
    const events = eventsOf(text);
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = events.slice(0, -1);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(chunks.every((chunk) => chunk.choices.length > 0 && !('usage' in chunk))).toBe(true);
    expect(chunks[0].choices[0].delta.role).toBe('assistant');
    expect(chunks.map((chunk) => chunk.choices[0].delta.content ?? '').join('')).toBe('word word word word');
    expect(chunks.at(-1).choices[0].finish_reason).toBe('stop');
  });

  it('ends with the usage on request, after usage: null in the other chunks', async () => {
    const { text } = await stream('[[tokens 2]]', { stream_options: { include_usage: true } });
    const chunks = eventsOf(text).slice(0, -1);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 2 } });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });

  it('ends a broken stream with an error event and without [DONE]', async () => {
    const { status, text } = await stream('[[cut 2]]');
    expect(status).toBe(200);
    const events = eventsOf(text);
    expect(events.at(-1)).toEqual({
      error: {
        code: 'invalid_upstream_response',
        message: expect.any(String),
        type: 'server_error',
        param: null,
      },
    });
    expect(text).not.toContain('[DONE]');
  });

  it('returns a regular error if it fails before the first event', async () => {
    expect((await stream('[[fail 500]]')).status).toBe(502);
    expect((await post({ ...ask('x', { stream: true }), model: 'nope' })).json.error.code).toBe(
      'model_not_found',
    );
    expect((await post({ model: 'tiny', messages: [], stream: true })).status).toBe(422);
  });

  it('F46: stops the engine when the client disconnects, streaming or not', async () => {
    for (const more of [{ stream: true }, {}]) {
      const controller = new AbortController();
      const answer = fetch(`${app.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${app.keys.a}`, 'content-type': 'application/json' },
        body: JSON.stringify(ask('[[hang]]', more)),
        signal: controller.signal,
      });
      await expect.poll(() => app.engine.stats().running).toBe(1);
      controller.abort();
      await expect(answer).rejects.toThrow(/abort/i);
      await expect.poll(() => app.engine.stats().running).toBe(0);
    }
  });
});

describe('a silent stream', () => {
  it('sends a comment every 15 s, and a later error as its last event', async () => {
    const clock = createManualClock();
    const slow = await startServer({ clock });
    const connection = await openRaw(slow.url);
    const body = JSON.stringify(ask('[[delay 1000000]] [[fail 500]]', { stream: true }));
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${slow.keys.a}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => slow.engine.stats().running).toBe(1);
    await clock.advance(14_999);
    expect(connection.socket.bytesRead).toBe(0);
    await clock.advance(1);
    expect(await connection.until('\n: keep-alive\n\n')).toMatch(/^HTTP\/1.1 200 OK/);
    await clock.advance(15_000);
    await expect.poll(async () => (await connection.until('HTTP')).match(/^: keep-alive$/gm)).toHaveLength(2);
    await clock.advance(1_000_000);
    const text = await connection.until('0\r\n\r\n');
    expect(text).toMatch(/data: \{"error":\{"code":"upstream_error"/);
    expect(text).not.toContain('[DONE]');
    connection.socket.destroy();
    await slow.stop();
  });
});

it('POST /v1/chat/completions/input_tokens counts like the engine, including functions', async () => {
  const count = (json: object) => app.call('POST', `${path}/input_tokens`, { json });
  const functions = [{ name: 'f', parameters: { type: 'object' } }];
  for (const request of [ask('one two three'), ask('one two three', { functions })]) {
    const { usage } = (await post(request)).json;
    const { status, json } = await count(request);
    expect([status, json]).toEqual([200, { input_tokens: usage.prompt_tokens }]);
  }
  expect((await count({ ...ask('x'), model: 'nope' })).json.error.code).toBe('model_not_found');
  expect((await count({ model: 'tiny' })).status).toBe(422);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import type { ChatChunk, ChatChunks } from '../../src/wire/chat/chat.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createBilledKey } from './support/billed-key.ts';
import { openRaw } from './support/raw-http.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
const path = '/v1/responses';
const ask = (input: unknown, more: object = {}) => ({ model: 'tiny', input, ...more });
const post = (json: unknown) => app.call('POST', path, { json });

beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

interface Event {
  name: string;
  data: Json;
}

function eventsOf(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
      expect(name, block).toBeDefined();
      return { name: name!, data: JSON.parse(data!) };
    });
}

describe('POST /v1/responses', () => {
  it('200: a string, an alias, one charge', async () => {
    const { key, billed } = await createBilledKey(app);
    const asked = { ...ask('hello [[tokens 7]]'), model: 'default' };
    const { status, json } = await app.call('POST', path, { json: asked, key });
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: 'response', model: 'tiny', status: 'completed' });
    expect(json.usage.output_tokens).toBe(7);
    await expect.poll(billed).toEqual({ requests: 1, outputTokens: 7 });
  });

  it('422: invalid requests, each with the location', async () => {
    for (const body of [null, [], 'text', 5, {}]) expect((await post(body)).status).toBe(422);
    const { json } = await post(ask([{ role: 'user', content: [{ type: 'input_text', text: 7 }] }]));
    expect(json.error).toMatchObject({ code: 'validation_error', param: 'input[0].content[0].text' });
    expect(json.detail[0].loc).toEqual(['body', 'input', 0, 'content', 0, 'text']);
  });

  it('422: a result without its call, an empty input, an empty reference', async () => {
    const result = { type: 'function_call_output', call_id: 'c', output: 'x' };
    expect((await post(ask([result]))).json.error.param).toBe('input[0].call_id');
    expect((await post(ask([{ type: 'web_search_call' }]))).json.error.param).toBe('input');
  });

  it('404: an unknown model, one without chat, an unknown previous response', async () => {
    expect((await post({ ...ask('x'), model: 'nope' })).json.error.code).toBe('model_not_found');
    expect((await post({ ...ask('x'), model: 'vectors' })).status).toBe(404);
    for (const id of ['resp_1', `resp_${'0'.repeat(32)}`, 'x'.repeat(5_000), '\u0000']) {
      const { status, json } = await post(ask('x', { previous_response_id: id }));
      expect([status, json.error.code]).toEqual([404, 'previous_response_not_found']);
    }
  });

  it('403: a model that the key may not use, in the background too', async () => {
    const [org] = await app.accounts.orgs.list();
    const { key } = await app.accounts.keys.create(serverActor, { orgId: org!.id, models: ['vectors'] });
    for (const more of [{}, { background: true }])
      expect((await app.call('POST', path, { json: ask('x', more), key })).json.error.code).toBe(
        'model_not_allowed',
      );
  });

  it('409: for cancelling a response that is not in the background, without a retry', async () => {
    const { json } = await post(ask('x'));
    const cancel = await app.call('POST', `${path}/${json.id}/cancel`);
    expect([cancel.status, cancel.json.error.code]).toEqual([409, 'response_not_cancellable']);
    expect(cancel.headers.get('x-should-retry')).toBe('false');
  });

  it('422: an invalid query', async () => {
    const { id } = (await post(ask('x'))).json;
    for (const query of ['limit=0', 'limit=101', 'order=up', 'after=nobody'])
      expect((await app.call('GET', `${path}/${id}/input_items?${query}`)).status, query).toBe(422);
    for (const query of ['stream=maybe', 'stream=true&starting_after=x'])
      expect((await app.call('GET', `${path}/${id}?${query}`)).status, query).toBe(422);
  });

  it('is not stored if the engine fails', async () => {
    const before = await app.store.responses.removeExpired(Number.MAX_SAFE_INTEGER, 1_000);
    expect(before).toBeGreaterThan(0);
    expect((await post(ask('[[fail 500]]'))).status).toBe(502);
    expect((await post(ask('[[fail 500]]', { stream: true }))).status).toBe(502);
    expect(await app.store.responses.removeExpired(Number.MAX_SAFE_INTEGER, 1_000)).toBe(0);
  });
});

describe('POST /v1/responses as a stream', () => {
  it('sends named events, numbered from 0, and no [DONE]', async () => {
    const { status, headers, text } = await post(ask('[[tokens 4]]', { stream: true }));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = eventsOf(text);
    expect(events.map(({ name, data }) => name === data.type)).not.toContain(false);
    expect(events.map(({ data }) => data.sequence_number)).toEqual(events.map((_, n) => n));
    expect(events.at(-1)!.name).toBe('response.completed');
    expect(text).not.toContain('[DONE]');
  });

  it('ends a broken stream with the error that every client raises', async () => {
    const { status, text } = await post(ask('[[cut 3]] x', { stream: true }));
    expect(status).toBe(200);
    const events = eventsOf(text);
    const { name, data } = events.at(-1)!;
    expect(name).toBe('error');
    expect(data).toMatchObject({
      type: 'error',
      sequence_number: events.length - 1,
      code: 'invalid_upstream_response',
      message: expect.any(String),
      error: { type: 'server_error', code: 'invalid_upstream_response' },
    });
    const id = events[0]!.data.response.id as string;
    const again = eventsOf((await app.call('GET', `${path}/${id}?stream=true`)).text);
    expect(again.slice(0, -1)).toEqual(events.slice(0, -1));
    expect(again.at(-1)!.data).toMatchObject({ type: 'response.failed', sequence_number: events.length - 1 });
  });

  it('replays a long stream in order from any event', async () => {
    const talkative = await startServer({
      engine: (scripted) => ({
        ...scripted,
        async *stream(): ChatChunks {
          const head = { id: 'c', object: 'chat.completion.chunk' as const, created: 1, model: 'm' };
          const say = (content: string): ChatChunk['choices'] => [
            { index: 0, delta: { content }, finish_reason: null },
          ];
          yield Array.from({ length: 700 }, (_, n) => ({ ...head, choices: say(`${n} `) }));
          yield [{ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }];
        },
      }),
    });
    const made = await talkative.call('POST', path, { json: ask('x', { stream: true }) });
    const events = eventsOf(made.text);
    expect(events.length).toBeGreaterThan(700);
    for (const after of [-1, 199, 200, events.length - 2, events.length - 1]) {
      const start = after < 0 ? '' : `&starting_after=${after}`;
      const again = `${path}/${events[0]!.data.response.id}?stream=true${start}`;
      expect(eventsOf((await talkative.call('GET', again)).text)).toEqual(events.slice(after + 1));
    }
    await talkative.stop();
  });

  it('is stored before its last event is sent', async () => {
    const connection = await openRaw(app.url);
    const body = JSON.stringify(ask('x', { stream: true }));
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const text = await connection.until('response.output_text.done');
    const id = /resp_[0-9a-f]{32}/.exec(text)![0];
    expect((await app.call('GET', `${path}/${id}`)).json.status).toBe('completed');
    connection.socket.destroy();
  });

  it('keeps a silent stream alive with comments', async () => {
    const clock = createManualClock();
    const slow = await startServer({ clock });
    const connection = await openRaw(slow.url);
    const body = JSON.stringify(ask('[[delay 1000000]]', { stream: true }));
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${slow.keys.a}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => slow.engine.stats().running).toBe(1);
    await clock.advance(15_000);
    expect(await connection.until('\n: keep-alive\n\n')).toMatch(/^HTTP\/1.1 200 OK/);
    connection.socket.destroy();
    await expect.poll(() => slow.engine.stats().running).toBe(0);
    await slow.stop();
  });
});

describe('a response in the background', () => {
  const statusOf = async (id: string) => (await app.call('GET', `${path}/${id}`)).json.status as string;

  it('continues without its client, and frees the engine when deleted', async () => {
    const { json } = await post(ask('[[hang]]', { background: true }));
    await expect.poll(() => app.engine.stats().running).toBe(1);
    expect(await statusOf(json.id)).toBe('in_progress');
    expect((await app.call('DELETE', `${path}/${json.id}`)).json).toEqual({
      id: json.id,
      object: 'response',
      deleted: true,
    });
    await expect.poll(() => app.engine.stats().running).toBe(0);
  });

  it('cannot be continued before it is finished', async () => {
    const { id } = (await post(ask('[[hang]]', { background: true }))).json;
    const next = await post(ask('x', { previous_response_id: id }));
    expect([next.status, next.json.error.param]).toEqual([422, 'previous_response_id']);
    expect((await app.call('POST', `${path}/${id}/cancel`)).json.status).toBe('cancelled');
    await expect.poll(() => app.engine.stats().running).toBe(0);
    const events = eventsOf((await app.call('GET', `${path}/${id}?stream=true`)).text);
    expect(events.map(({ name }) => name)).toEqual([
      'response.created',
      'response.queued',
      'response.in_progress',
      'response.failed',
    ]);
    expect(events.at(-1)!.data.response.status).toBe('cancelled');
  });

  it('can be followed from any event while it is created', async () => {
    const { id } = (await post(ask('[[delay 300]] late', { background: true }))).json;
    const all = eventsOf((await app.call('GET', `${path}/${id}?stream=true`)).text);
    expect(all.map(({ data }) => data.sequence_number)).toEqual(all.map((_, n) => n));
    expect(all.at(-1)!.data.response).toMatchObject({ id, status: 'completed' });
    const rest = eventsOf((await app.call('GET', `${path}/${id}?stream=true&starting_after=3`)).text);
    expect(rest).toEqual(all.slice(4));
  });

  it('is charged like a synchronous one', async () => {
    const { key, billed } = await createBilledKey(app);
    await app.call('POST', path, { json: ask('[[tokens 3]]', { background: true }), key });
    await expect.poll(billed).toEqual({ requests: 1, outputTokens: 3 });
  });
});

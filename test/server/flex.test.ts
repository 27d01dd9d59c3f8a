import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { findStreamFault } from '../fuzz/check-stream.ts';
import { type CallResult, type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const messages = [{ role: 'user', content: 'hello [[tokens 3]]' }];
const chat = ['/v1/chat/completions', { model: 'tiny', messages }] as const;
const response = ['/v1/responses', { model: 'tiny', input: 'hello [[tokens 3]]' }] as const;
const message = ['/v1/messages', { model: 'tiny', max_tokens: 9, messages }] as const;
const embedding = ['/v1/embeddings', { model: 'vectors', input: 'hello' }] as const;
const routes = [chat, response, message, embedding];

const post = (path: string, json: object, headers: Record<string, string> = {}): Promise<CallResult> =>
  app.call('POST', path, { json: { service_tier: 'flex', ...json }, headers });
const get = async (path: string) => (await app.call('GET', path)).json;
const tierOf = (body: Json) => body.service_tier ?? body.usage?.service_tier;

describe.each(routes)('a flex request to %s', (path, body) => {
  it('is answered like any other, and says how it was served', async () => {
    const [flex, plain] = [await post(path, body), await app.call('POST', path, { json: body })];
    expect([flex.status, plain.status]).toEqual([200, 200]);
    expect(flex.headers.get('x-offpeak-model')).toBe(plain.headers.get('x-offpeak-model'));
    expect(Object.keys(flex.json).toSorted()).toEqual(Object.keys(plain.json).toSorted());
    const tiers = { '/v1/messages': 'batch', '/v1/embeddings': undefined } as Record<string, unknown>;
    expect(tierOf(flex.json)).toBe(path in tiers ? tiers[path] : 'flex');
  });

  it('is joined by its repeats, which cost nothing more', async () => {
    const before = await requestsOf('flex');
    const key = { 'idempotency-key': `of ${path}` };
    const first = await post(path, body, key);
    const again = await post(path, body, key);
    expect(again.text).toBe(first.text);
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    const other = await post(path, { ...body, user: 'other' }, key);
    expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_mismatch']);
    const [lost, retried] = [
      await post(path, body),
      await post(path, body, { 'x-stainless-retry-count': '1' }),
    ];
    expect(retried.text).toBe(lost.text);
    expect((await requestsOf('flex')) - before).toBe(2);
  });
});

describe.each(routes.slice(0, 3))('a flex stream of %s', (path, body) => {
  it('has the answer in the events of its format', async () => {
    const { status, text, headers } = await post(path, { ...body, stream: true });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(text.startsWith(': keep-alive\n\n')).toBe(true);
    expect(findStreamFault(path, text.replace(': keep-alive\n\n', ''))).toBeUndefined();
    expect(text).toContain(path === '/v1/messages' ? '"service_tier":"batch"' : '"service_tier":"flex"');
  });

  it('that cannot be stored is an ordinary error', async () => {
    expect((await post(path, { ...body, model: 'nope', stream: true })).status).toBe(404);
  });
});

describe('the log of a flex request', () => {
  const lineOf = async ({ headers }: CallResult) => {
    const id = headers.get('x-request-id');
    const line = () => app.logged.find(({ fields }) => fields['request_id'] === id);
    await expect.poll(line).toBeDefined();
    return line()!.fields;
  };

  it.each(routes)('tells of the model, the server, the times and the tokens: %s', async (path, body) => {
    const first = await post(path, { ...body, user: 'logged' }, { 'idempotency-key': `log of ${path}` });
    const { usage } = first.json;
    expect(await lineOf(first)).toMatchObject({
      model: body.model,
      server: 'only',
      queued_ms: expect.any(Number),
      first_ms: expect.any(Number),
      input_tokens: usage.prompt_tokens ?? usage.input_tokens,
      output_tokens: usage.completion_tokens ?? usage.output_tokens ?? 0,
    });
    const again = await post(path, { ...body, user: 'logged' }, { 'idempotency-key': `log of ${path}` });
    const repeated = await lineOf(again);
    expect(repeated).toMatchObject({ model: body.model, server: 'only' });
    expect(repeated['output_tokens']).toBeUndefined();
  });

  it.each(routes.slice(0, 3))('tells of a stream, too: %s', async (path, body) => {
    const line = await lineOf(await post(path, { ...body, stream: true }));
    expect(line).toMatchObject({ model: 'tiny', server: 'only', output_tokens: 3 });
  });

  it('tells of a request that failed', async () => {
    const failed = await post(chat[0], { ...chat[1], messages: [{ role: 'user', content: '[[fail 400]]' }] });
    expect(await lineOf(failed)).toMatchObject({
      model: 'tiny',
      server: 'only',
      first_ms: expect.any(Number),
    });
  });
});

/** Number of requests in the usage at a tier. */
async function requestsOf(tier: string): Promise<number> {
  const { data } = await get('/v1/usage?group_by=tier');
  return data.find((row: Json) => row.tier === tier)?.requests ?? 0;
}

describe('the answer of a flex request', () => {
  it('is stored as a chat with store: true', async () => {
    const json = { ...chat[1], store: true, metadata: { a: 'b' } };
    const made = (await post(chat[0], json)).json;
    expect(await get(`${chat[0]}/${made.id}`)).toEqual({ ...made, metadata: { a: 'b' } });
    const { data } = await get(`${chat[0]}/${made.id}/messages`);
    expect(data).toMatchObject([messages[0]]);
    const unstored = (await post(chat[0], chat[1])).json;
    expect((await app.call('GET', `${chat[0]}/${unstored.id}`)).status).toBe(404);
  });

  it('is stored as a response, which other requests continue at any tier', async () => {
    const first = (await post(...response)).json;
    expect(await get(`/v1/responses/${first.id}`)).toEqual(first);
    expect(first).toMatchObject({ store: true, status: 'completed', previous_response_id: null });
    const next = { model: 'tiny', input: 'and [[echo]]', previous_response_id: first.id };
    const second = (await post('/v1/responses', next)).json;
    expect(second.previous_response_id).toBe(first.id);
    expect(await get(`/v1/responses/${second.id}`)).toEqual(second);
    const { data } = await get(`/v1/responses/${second.id}/input_items`);
    expect(data.map(({ content }: Json) => content[0].text)).toEqual(['and [[echo]]']);
    const third = await app.call('POST', '/v1/responses', {
      json: { model: 'tiny', input: 'again', previous_response_id: second.id },
    });
    expect(third.status).toBe(200);
    const counted = await app.call('POST', '/v1/responses/input_tokens', {
      json: { model: 'tiny', input: 'again', previous_response_id: second.id },
    });
    expect(third.json.usage.input_tokens).toBe(counted.json.input_tokens);
  });

  it('is not stored with store: false, but joins its conversation', async () => {
    const conversation = (await app.call('POST', '/v1/conversations', { json: {} })).json.id;
    const made = (await post('/v1/responses', { ...response[1], store: false, conversation })).json;
    expect(made).toMatchObject({ store: false, conversation: { id: conversation } });
    expect((await app.call('GET', `/v1/responses/${made.id}`)).status).toBe(404);
    const { data } = await get(`/v1/conversations/${conversation}/items?order=asc`);
    expect(data.map(({ role }: Json) => role)).toEqual(['user', 'assistant']);
    await post('/v1/responses', { ...response[1], store: false, conversation });
    expect((await get(`/v1/conversations/${conversation}/items`)).data).toHaveLength(4);
  });
});

describe('background_options of a response', () => {
  const ask = (json: object) => app.call('POST', '/v1/responses', { json: { ...response[1], ...json } });

  it('run it at the batch price, within the window', async () => {
    const creates = vi.spyOn(app.store.requests, 'create');
    onTestFinished(() => creates.mockRestore());
    for (const window of ['soonest', '2h', '8h'])
      await ask({
        background: true,
        background_options: { completion_window: window, continuation_id: 'c' },
      });
    const groups = creates.mock.calls.map(([{ tier, windowMs, priceFactor }]) => ({
      tier,
      hours: windowMs! / 3_600_000,
      priceFactor,
    }));
    expect(groups).toEqual([
      { tier: 'default', hours: 24, priceFactor: 1 },
      { tier: 'flex', hours: 2, priceFactor: 0.5 },
      { tier: 'flex', hours: 8, priceFactor: 0.5 },
    ]);
  });

  it('need the background, and a window that exists', async () => {
    const faultOf = async (window: string, background?: boolean) =>
      (await ask({ background, background_options: { completion_window: window } })).json.error.message;
    expect(await faultOf('2h')).toBe('background_options.completion_window: "2h" needs background: true');
    expect(await faultOf('3h', true)).toMatch(
      /^background_options.completion_window: expected one of "soonest", "2h" or/,
    );
    expect((await ask({ background_options: { completion_window: 'soonest' } })).status).toBe(200);
  });
});

describe('a request at the default tier of its key', () => {
  it('runs as flex, unless it names another tier', async () => {
    const { id } = (await app.accounts.orgs.list())[0]!;
    const { key } = await app.accounts.keys.create(serverActor, { orgId: id, serviceTier: 'flex' });
    const served = async (tier?: string) =>
      tierOf((await app.call('POST', chat[0], { key, json: { ...chat[1], service_tier: tier } })).json);
    expect([await served(), await served('auto'), await served('default')]).toEqual([
      'flex',
      'flex',
      'default',
    ]);
  });
});

describe('a client that leaves', () => {
  it.each([false, true])('gets the answer when it repeats its request; a stream: %j', async (stream) => {
    const [path, body] = chat;
    const asked = {
      ...body,
      stream,
      service_tier: 'flex',
      messages: [{ role: 'user', content: '[[delay 300]] hi' }],
    };
    const headers = {
      authorization: `Bearer ${app.keys.a}`,
      'content-type': 'application/json',
      'idempotency-key': `left ${stream}`,
    };
    const [before, calls] = [await requestsOf('flex'), app.engine.stats().calls];
    const leaving = new AbortController();
    const left = fetch(app.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(asked),
      signal: leaving.signal,
    }).then((answer) => answer.text());
    await expect.poll(() => app.engine.stats().calls).toBe(calls + 1);
    leaving.abort();
    await expect(left).rejects.toThrow();
    const again = await app.call('POST', path, {
      json: asked,
      headers: { 'idempotency-key': `left ${stream}` },
    });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(again.text).toContain('hi');
    expect([app.engine.stats().calls - calls, (await requestsOf('flex')) - before]).toEqual([1, 1]);
  });
});

describe('a flex request that fails', () => {
  it('has the error of its line, and runs again when it is repeated', async () => {
    const body = { ...chat[1], messages: [{ role: 'user', content: '[[fail 400]]' }] };
    const key = { 'idempotency-key': 'fails' };
    const [first, again] = [await post(chat[0], body, key), await post(chat[0], body, key)];
    expect([first.status, again.status]).toEqual([again.status, first.status]);
    expect(first.status).toBeGreaterThanOrEqual(400);
    expect(again.json.error.code).toBe(first.json.error.code);
  });
});

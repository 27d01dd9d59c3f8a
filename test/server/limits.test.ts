import { afterEach, describe, expect, it } from 'vitest';
import type { CallerLimits } from '../../src/core/limits.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { type CallOptions, type RunningServer, startServer, testModels } from './support/start-server.ts';

let app: RunningServer;
let clock: ManualClock;
async function start(requestLimits: Partial<CallerLimits>, models = testModels) {
  clock = createManualClock();
  app = await startServer({ clock, requestLimits, models });
}
afterEach(() => app.stop());

const messages = [{ role: 'user', content: 'hi [[tokens 3]]' }];
const chat = (more: object = {}, how: CallOptions = {}) =>
  app.call('POST', '/v1/chat/completions', { json: { model: 'tiny', messages, ...more }, ...how });
const limitHeaders = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => /ratelimit|retry/.test(name)));

describe('C22: requests per minute', () => {
  it('admit exactly 100 of 200 concurrent requests', async () => {
    await start({ org: { requestsPerMinute: 100 } });
    const answers = await Promise.all(Array.from({ length: 200 }, () => chat()));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(100);
    expect((await chat({}, { key: app.keys.b })).status).toBe(200);
    const lines = (message: string) => app.logged.filter((line) => line.message === message);
    await expect.poll(() => lines('request').length).toBe(100 + 20 + 1);
    await app.server.stop();
    expect(lines('further refusals of a key').map(({ fields }) => fields)).toMatchObject([
      { requests: 80, codes: { rate_limit_exceeded: 80 } },
    ]);
  });

  it('are told to OpenAI clients on success and on refusal', async () => {
    await start({ org: { requestsPerMinute: 2 } });
    expect(limitHeaders((await chat()).headers)).toEqual({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '30s',
    });
    const stream = await chat({ stream: true });
    expect(stream.text).toContain('[DONE]');
    expect(limitHeaders(stream.headers)).toEqual({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m0s',
    });
    for (const more of [{}, { stream: true }]) {
      const refused = await chat(more);
      expect(refused.status).toBe(429);
      expect(refused.json.error).toMatchObject({ type: 'rate_limit_error', code: 'rate_limit_exceeded' });
      expect(limitHeaders(refused.headers)).toEqual({
        'retry-after': '30',
        'retry-after-ms': '30000',
        'x-ratelimit-limit-requests': '2',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '1m0s',
      });
    }
    await clock.advance(30_000);
    expect((await chat()).status).toBe(200);
  });

  it('are told to Anthropic clients, with times', async () => {
    await start({
      org: { requestsPerMinute: 2, inputTokensPerMinute: 600, outputTokensPerMinute: 60 },
    });
    const ask = () => app.call('POST', '/v1/messages', { json: { model: 'tiny', max_tokens: 30, messages } });
    const first = await ask();
    expect(first.status).toBe(200);
    expect(limitHeaders(first.headers)).toMatchObject({
      'anthropic-ratelimit-requests-limit': '2',
      'anthropic-ratelimit-requests-remaining': '1',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:30Z',
      'anthropic-ratelimit-output-tokens-limit': '60',
      'anthropic-ratelimit-output-tokens-remaining': '30',
      'anthropic-ratelimit-tokens-limit': '60',
      'anthropic-ratelimit-input-tokens-limit': '600',
    });
    await ask();
    const refused = await ask();
    expect(refused.json).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    expect(limitHeaders(refused.headers)).toMatchObject({
      'retry-after': '30',
      'anthropic-ratelimit-requests-remaining': '0',
    });
  });

  it.each([
    ['/v1/completions', { prompt: 'hi' }],
    ['/v1/embeddings', { input: 'hi' }],
    ['/v1/responses', { input: 'hi' }],
    ['/v1/responses', { input: 'hi', stream: true }],
    ['/v1/responses', { input: 'hi', background: true }],
    ['/v1/messages', { max_tokens: 5, messages, stream: true }],
    ['/v1/completions', { prompt: 'hi', stream: true }],
  ])('count %s %j', async (path, body) => {
    await start({ key: { requestsPerMinute: 1 } });
    const ask = () => app.call('POST', path, { json: { model: 'tiny', ...body } });
    expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
  });

  it('count neither other routes nor the requests of a batch', async () => {
    await start({ org: { requestsPerMinute: 1 } });
    for (let at = 0; at < 3; at++) expect((await app.call('GET', '/v1/files')).status).toBe(200);
    const body = { model: 'tiny', messages };
    const { json } = await app.call('POST', '/v1/batches', {
      json: {
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        requests: [1, 2, 3, 4].map((id) => ({
          custom_id: `${id}`,
          method: 'POST',
          url: '/v1/chat/completions',
          body,
        })),
      },
    });
    const read = async () => {
      await clock.advance(1_000);
      return (await app.call('GET', `/v1/batches/${json.id}`)).json.request_counts;
    };
    await expect.poll(read).toEqual({ total: 4, completed: 4, failed: 0 });
    expect((await chat()).status).toBe(200);
    expect((await chat()).status).toBe(429);
  });
});

describe('tokens per minute', () => {
  it('are corrected by the usage of the answer, streamed or not', async () => {
    await start({ org: { outputTokensPerMinute: 100 } });
    const remaining = async (more: object) =>
      (await chat({ max_tokens: 50, ...more })).headers.get('x-ratelimit-remaining-tokens');
    // 50 are reserved, and 3 used.
    expect(await remaining({})).toBe('50');
    expect(await remaining({ stream: true })).toBe('47');
    expect(await remaining({})).toBe('44');
  });

  it('are reserved up to what the model can generate, whatever the maximum', async () => {
    const models = testModels.map((model) => ({ ...model, contextLength: 4_096 }));
    await start({ org: { outputTokensPerMinute: 100_000 } }, models);
    const client = new AbortController();
    const hanging = fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      signal: client.signal,
      headers: { authorization: `Bearer ${app.keys.a}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'default',
        max_tokens: 2 ** 31 - 1,
        messages: [{ role: 'user', content: '[[hang]]' }],
      }),
    }).catch(() => {});
    await expect.poll(() => app.engine.stats().running).toBe(1);
    const { status, headers } = await chat({ max_tokens: 2 ** 31 - 1 });
    expect(status).toBe(200);
    expect(Number(headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(100_000 - 2 * 4_096);
    client.abort();
    await hanging;
  });

  it('of a failed request are returned', async () => {
    await start({ org: { outputTokensPerMinute: 100 } });
    for (let at = 0; at < 3; at++)
      expect((await chat({ max_tokens: 90, model: 'unknown' })).status).toBe(404);
    const { status, headers } = await chat({ max_tokens: 90 });
    expect([status, headers.get('x-ratelimit-remaining-tokens')]).toEqual([200, '10']);
  });
});

describe('concurrent requests', () => {
  it('are counted until the answer ends or its client leaves', async () => {
    await start({ org: { concurrentRequests: 2 } });
    const clients = [new AbortController(), new AbortController()];
    const json = { model: 'tiny', messages: [{ role: 'user', content: '[[hang]]' }] };
    const pending = clients.map(({ signal }, at) =>
      fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        signal,
        headers: { authorization: `Bearer ${app.keys.a}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...json, stream: at === 0 }),
      }).catch(() => {}),
    );
    await expect.poll(() => app.engine.stats().running).toBe(2);
    const refused = await chat();
    expect(refused.status).toBe(429);
    expect(refused.json.error.message).toContain('2 concurrent requests (concurrent_requests), is reached');
    expect((await chat({}, { key: app.keys.b })).status).toBe(200);
    for (const client of clients) client.abort();
    await Promise.all(pending);
    await expect.poll(async () => (await chat()).status).toBe(200);
  });
});

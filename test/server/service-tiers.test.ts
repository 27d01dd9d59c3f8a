import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const messages = [{ role: 'user', content: 'hello [[tokens 3]]' }];
const routes = [
  ['/v1/chat/completions', { model: 'tiny', messages }],
  ['/v1/responses', { model: 'tiny', input: 'hello [[tokens 3]]' }],
  ['/v1/messages', { model: 'tiny', max_tokens: 9, messages }],
  ['/v1/embeddings', { model: 'vectors', input: 'hello' }],
] as const;

const post = (path: string, json: unknown) => app.call('POST', path, { json });

/** Tiers that the events of a stream name. */
function tiersIn(text: string): unknown[] {
  const events = text.split('\n').flatMap((line): Json[] => {
    const data = line.startsWith('data: {') ? line.slice(6) : undefined;
    return data === undefined ? [] : [JSON.parse(data)];
  });
  return events.map((event) => tierOf(event.message ?? event.response ?? event));
}
const tierOf = (body: Json) => body.service_tier ?? body.usage?.service_tier;

describe.each(routes)('the service tier at %s', (path, body) => {
  it('is refused unless it is known', async () => {
    const { status, json } = await post(path, { ...body, service_tier: 'scale' });
    expect(status).toBe(422);
    expect(json.error).toMatchObject({
      param: 'service_tier',
      message: 'service_tier: expected "auto", "default", "flex", "priority" or "standard_only", got "scale"',
    });
    expect((await post(path, { ...body, service_tier: 1 })).status).toBe(422);
  });

  it.each([undefined, null, 'auto', 'default', 'priority', 'standard_only'])(
    'of %j is the default',
    async (tier) => {
      const { status, json } = await post(path, { ...body, service_tier: tier });
      expect(status).toBe(200);
      if (path === '/v1/embeddings') return;
      expect(tierOf(json)).toBe(path === '/v1/messages' ? 'standard' : 'default');
    },
  );
});

describe('a stream names its tier', () => {
  it.each(routes.slice(0, 2))('at %s', async (path, body) => {
    const { text } = await post(path, { ...body, service_tier: 'priority', stream: true });
    const tiers = tiersIn(text).filter((tier) => tier !== undefined);
    expect(tiers.length).toBeGreaterThan(1);
    expect(new Set(tiers)).toEqual(new Set(['default']));
  });

  it('at /v1/messages', async () => {
    const { text } = await post(routes[2][0], { ...routes[2][1], stream: true });
    expect(tiersIn(text).slice(0, 2)).toEqual(['standard', undefined]);
  });
});

it.each([
  [...routes[0], undefined],
  [...routes[1], 'default'],
  [...routes[2], 'batch'],
  [...routes[3], undefined],
])('a line of a batch for %s may name any tier, which has no effect', async (endpoint, body, tier) => {
  const requests = [
    { custom_id: 'a', method: 'POST', url: endpoint, body: { ...body, service_tier: 'scale' } },
  ];
  const { status, json } = await post('/v1/batches', { endpoint, completion_window: '24h', requests });
  expect(status).toBe(201);
  const get = () => app.call('GET', `/v1/batches/${json.id}`);
  await expect.poll(async () => (await get()).json.status).toBe('completed');
  const { text } = await app.call('GET', `/v1/batches/${json.id}/output`);
  expect(tierOf(JSON.parse(text).response.body)).toBe(tier);
});
